"""These files are run by another Python, which has Flower, so the tests' Python leaves them out."""

from __future__ import annotations

collect_ignore_glob = ["flower_*.py"]
