"""Candidates of pairs that stay in an engine: the order rule and the triangle rule run there.

`protocol` lists the queries an engine must offer (`lsdt.side_information.engines` does), `rules` runs the
rounds of either rule, `method` is the entry point, `result` the answer.
"""
