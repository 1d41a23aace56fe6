"""Records into the cells of a grid, and rows of a text file."""
