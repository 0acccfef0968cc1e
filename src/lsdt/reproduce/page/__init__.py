"""The HTML page: `report` decides what is on it, `html` renders it, `cells` writes numbers and settings."""
