"""Speed, ours and others': ``python scripts/bench.py``, or ``pytest benchmarks``."""
