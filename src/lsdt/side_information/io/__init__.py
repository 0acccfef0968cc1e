"""Side information in and out: files, other libraries' objects, and arrays.

`files`, `csv` and `parquet` read and write; `convert` serves dataframes, networkx and scipy; these share
`columns`. `arrays` is the form kept in snapshots, `content_checksum` detects damage.
"""
