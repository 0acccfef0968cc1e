"""Which arm is the best, and when that is known: the rule of `agent.stopping` against published rules."""
