"""The figures and tables of the four papers, each a short file: ``python scripts/figures.py``."""
