"""Beyond the paper: `contests/` of all policies, `wrong_relations/`, `massive/` numbers of arms."""
