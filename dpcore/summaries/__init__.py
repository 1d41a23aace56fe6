"""Summaries of records: exact, private and additive totals, with one loop over chunks and threads.

They are counts in the cells of a public grid, also by class, and sums of polynomials. Imports
``records`` and ``kernels`` and no other room.
"""
