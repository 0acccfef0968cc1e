"""Logs that stay in DuckDB, Spark or another engine.

`source` is what a log must be able to tell, `lazy_frames` asks the engine for it. `row_checks` checks rows
there, `user_hash` deals users out by arithmetic that every engine knows.
"""
