"""Policies without side information: UCB1 and its relatives, Thompson sampling, KL-UCB, MOSS, IMED."""
