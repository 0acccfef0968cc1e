"""What compiled code and everything above it relies on.

`jit` chooses between the interpreter and compiled code; `compiler` compiles, with `lowering`;
`code_cache` and `cache_files` keep what was compiled, `beside` does both while the work goes on, `stamps`
tell sources apart. `state` and `drivers` run a policy, `random` has the random numbers, `rewards` the laws
that compiled rounds draw from, `special` the divergences and quantiles, `safe_math` logarithms and quotients
that never raise, `tournament` the largest of many indices, `graphs` the walks along links, `parallel` and
`memory` the machine, `checksums` the fingerprints.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
