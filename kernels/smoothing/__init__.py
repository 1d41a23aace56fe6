"""Monotone curves: isotonic regression, and Eq. 3 of the ECDF paper with norm 2."""
