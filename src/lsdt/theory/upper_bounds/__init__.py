"""Upper bounds on regret as a `curve`: Theorem 2 (`complete`) and Theorem 6 (`partial`)."""
