"""Function secret sharing: what is done to blocks before and after they are encrypted."""
