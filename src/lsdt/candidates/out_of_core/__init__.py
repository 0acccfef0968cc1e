"""Candidates of pairs that stay in an engine: the order rule and the triangle rule run there.

The queries are those of `lsdt.side_information.engines`; `rules` runs the rounds of either rule, `method` is
the entry point, `result` the answer.
"""
