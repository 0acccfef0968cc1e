"""Logs for examples: `jester` reads the published file, `look_alike` and `synthetic` generate logs."""
