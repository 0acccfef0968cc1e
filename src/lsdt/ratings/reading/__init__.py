"""From files and dataframes to logs.

`columns` says what to read; `text_files` opens text, plain or compressed; `delimited` and `json_lines` read
it; `batches` reads any file or dataframe piece by piece; `encoding` numbers users and items; `triples` puts
all together.
"""
