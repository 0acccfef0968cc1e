"""Logs to try things on: `jester` reads the published file, `look_alike` and `synthetic` make their own."""
