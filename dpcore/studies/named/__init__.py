"""The studies that come with dpcore: ``dpcore study --list`` names them."""
