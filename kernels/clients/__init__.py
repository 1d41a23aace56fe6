"""What clients contribute: records grouped by client, and unary encodings."""
