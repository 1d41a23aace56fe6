"""The speed of dpcore and others: ``python scripts/bench.py``, or ``pytest benchmarks``."""
