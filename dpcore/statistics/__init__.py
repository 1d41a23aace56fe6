"""Statistics read off released curves: post-processing, at no further cost in privacy."""
