"""Judges: people or models that say which of two arms is better, and are sometimes wrong.

`judge_model` turns answers into a joint normal law of strengths, and estimates how the judge errs;
`likely_best` says which arms may be the best, and with what probability; `pair_choice` chooses the next
pairs; `judged_arms` combines the three for `lsdt.Inquiry`. `asking` asks a function many questions at once,
and `answer_log` keeps the answers on disk.
"""
