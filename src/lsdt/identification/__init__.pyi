from .identify import Identification as Identification, identify as identify
from .inquiry import (
    Inquiry as Inquiry,
    NextPairs as NextPairs,
    PairQuestion as PairQuestion,
    next_pairs as next_pairs,
)
