"""Which arm is the best, and when that is known.

`identify` plays until the best arm is known or the budget is used up; `race` does so on common examples.
`identify_many` does so in many runs of a problem, also by the published rules in `rules/`, and compares.
`next_pairs` chooses pairs of arms to ask about; an `Inquiry` also takes the answers and chooses the next
pairs. `judges/` is for answers that say which arm is better and may be wrong, `questions/` for answers that
are facts.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "Grub",
    "Identification",
    "IdentificationRuns",
    "Inquiry",
    "JudgeEstimate",
    "LikelyBest",
    "NextPairs",
    "PairQuestion",
    "Plan",
    "RaceResult",
    "TopIdentification",
    "identify",
    "identify_many",
    "next_pairs",
    "plan",
    "race",
]
