"""Records counted in the cells of a grid, and rows found in a text file."""
