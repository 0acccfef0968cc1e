"""Parts of `lsdt.race`: e-values of pairs, the state of a race, its result, and evaluations in parallel."""
