"""Trees over the cells of a grid: sums, least squares, errors, sensitivities, partitions."""
