"""Where side information comes from: means, `features`, `groups`, `experiments`, `orders`, or a `merge`."""
