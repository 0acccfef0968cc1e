"""Which pairs to ask about: answers until few arms are left, chosen in three ways."""
