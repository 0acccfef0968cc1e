"""Policies beyond the paper: on all that propagation says of gaps, and with relations that may be wrong."""
