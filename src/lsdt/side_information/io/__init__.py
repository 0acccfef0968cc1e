"""Side information in and out: files, other libraries' objects, and arrays.

`files`, `csv` and `parquet` read and write; `convert` serves dataframes, networkx and scipy; these share
`columns`. `arrays` is what snapshots keep, `content_checksum` detects damage.
"""
