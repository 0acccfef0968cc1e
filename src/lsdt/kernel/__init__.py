"""What compiled code and everything above it relies on.

`jit` compiles, `code_cache` keeps what was compiled, `state` and `drivers` run a policy, `random` has the
random numbers, `rewards` the laws that compiled rounds draw from, `special` the divergences and quantiles,
`tournament` the largest of many indices, `parallel` and `memory` the machine, `checksums` the fingerprints.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
