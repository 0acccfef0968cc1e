"""What all parts of the reproduction share.

`experiment` says what a part is, `claims` how it is judged, `part` how it is kept on disk; `sampling` and
`regret_figures` do what many parts do, `wording` has the names of policies, `certificates` checks proofs.
"""
