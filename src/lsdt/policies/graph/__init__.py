"""Policies of others that use similar pairs: CKL-UCB, OSUB, OSSB, IMED-UB, UTS."""
