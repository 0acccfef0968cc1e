"""Side information from anywhere: what each source of pairs is worth, and how often it is wrong."""
