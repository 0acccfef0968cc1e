"""Very many arms: where `elimination` begins, and regret when there are `few_rounds`."""
