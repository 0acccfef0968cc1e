"""Statistics of `pairs` of items and of single `items`, confidence `intervals`, `missingness` of ratings."""
