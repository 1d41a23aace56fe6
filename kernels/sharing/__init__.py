"""Function secret sharing: operations on blocks before and after their encryption."""
