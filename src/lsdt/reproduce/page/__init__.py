"""The HTML page: `report` says what is on it, `html` renders it, `cells` writes numbers and settings."""
