"""The live agent: ask which arm to play, tell what it paid.

`agent` is the whole: it checks, decides, and answers when events are durable. `learner` owns the policy's
state and the tallies of rewards (`decide`, `apply`); `journal` is where events go: nowhere, into a log with
one writer, or into one with several. `opening` finds an agent in a store. The other files take a learner and
do one thing each: `recommendation`, `stopping`, `suspects`, `drift`, `extension`, `snapshot`, `merge`.
`halt` is pauses and stops; `half_life` lets rewards fade; `asked_order` puts late rewards where they belong.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "Agent",
    "ArmEstimate",
    "Decision",
    "Extension",
    "Halt",
    "Recommendation",
    "Stopping",
    "TopRecommendation",
    "TopStopping",
]
