"""Where side information comes from: known means, `features` of arms, `groups`, or a `merge` of several."""
