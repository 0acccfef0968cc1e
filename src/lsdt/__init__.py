"""lsdt: learn which of very many arms is best when some pairs are known to be similar or dissimilar.

The names listed in ``__init__.pyi`` are loaded on first use, so that ``import lsdt`` and ``lsdt --help`` are
instant. Types that are only returned by calls live in subpackages, such as `lsdt.candidates.CandidateSet`.
"""

import lazy_loader

__version__ = "0.3.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
