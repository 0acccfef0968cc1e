"""Code that all parts of the reproduction share.

`experiment` defines a part, `claims` judges it, `part` stores it on disk; `sampling` and `regret_figures`
hold code that many parts use, `wording` the names of policies, and `certificates` checks proofs.
"""
