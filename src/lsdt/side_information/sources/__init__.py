"""Where side information comes from: `features` of arms, `groups` of a taxonomy, or a `merge` of several."""
