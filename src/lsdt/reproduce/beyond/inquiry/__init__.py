"""Which pairs to ask about: how many answers three ways of choosing pairs need until few arms are left."""
