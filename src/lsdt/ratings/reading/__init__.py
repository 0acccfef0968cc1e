"""From files and dataframes to logs.

`batches` reads them piece by piece, `encoding` numbers users and items, `triples` puts both together.
"""
