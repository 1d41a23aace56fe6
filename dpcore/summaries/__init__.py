"""Summaries of records: exact, private and additive, with one loop over chunks and threads.

Counts in the cells of a public grid, by class too, and sums of polynomials. Imports ``records`` and
``kernels``, and no other room.
"""
