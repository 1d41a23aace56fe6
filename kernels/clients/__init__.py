"""What clients contribute: records grouped by client, who is dealt where, and unary encodings."""
