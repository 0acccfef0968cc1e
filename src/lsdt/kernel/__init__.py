"""What compiled code and everything above it relies on.

`jit` compiles, `code_cache` keeps what was compiled, `state` and `drivers` run a policy, `random` and `coins`
are the random numbers, `rewards` the laws that compiled rounds draw from, `divergences` and `quantiles` the
special functions, `tournament` the largest of many indices, `parallel` and `memory` the machine, `checksums`
the fingerprints.
"""
