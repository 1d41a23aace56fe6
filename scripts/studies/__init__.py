"""Studies, each of which makes a page of the documentation, or its tables and pictures."""
