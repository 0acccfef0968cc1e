"""Side information in and out: files, other libraries' objects, and arrays.

`files`, `csv` and `parquet` read and write; `convert` serves dataframes, networkx and scipy; `columns` is what
these share. `arrays` is what snapshots keep, `content_checksum` recognises damage.
"""
