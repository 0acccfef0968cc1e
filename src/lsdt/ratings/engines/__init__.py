"""Logs that stay in DuckDB, Spark or another engine.

`source` is the interface of a log, `lazy_frames` implements it by queries to the engine. `row_checks` checks
rows there, `user_hash` samples and splits users by arithmetic that every engine has.
"""
