"""What the parts of the reproduction are made of.

`experiment` says what a part is, `claims` how it is judged, `part` how it is kept on disk; `sampling` and
`regret_figures` do what many parts do, `names` and `phrases` say it in words, `certificates` checks proofs.
"""
