"""The HTML page: `report` collects its content, `html` renders it, `cells` formats numbers and settings."""
