"""Candidates of pairs that stay in an engine: the order rule and the triangle rule run there.

`protocol` is what an engine must offer (`lsdt.side_information.engines` does), `rules` the rounds of either
rule, `method` the entry, `result` the answer.
"""
