"""Trees over the cells of a grid: sums, least squares, errors, sensitivities, noise step by step.

Hilbert's curve through a table and partitions of a row are here, too.
"""
