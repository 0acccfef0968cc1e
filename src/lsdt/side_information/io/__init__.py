"""Side information in and out: files, other libraries' objects, and arrays.

`files` and `csv` read and write, `convert` speaks to dataframes, networkx and scipy, `columns` is what these
have in common, `arrays` is what snapshots keep.
"""
