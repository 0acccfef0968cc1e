"""What ratings say of `pairs` of items and of single `items`; `intervals`, and `missingness` of ratings."""
