"""Sums of Legendre polynomials and of powers over records, and Legendre series."""
