"""Measure: ``python scripts/bench.py [--quick] [--job NAME ... [--update]] [--no-write]``.

Times dpcore beside NumPy, SciPy and other libraries, in one run on this machine, checks that all
answers agree, and prints tables. Writes docs/benchmarks.md, docs/benchmarks.png and the table in
README.md. The first start makes ``.venv`` in the clone.

--quick         fewer and smaller sizes
--job NAME ...  these jobs only; a wrong name lists all of them; nothing is written
--update        with --job: put what these jobs took into the tables, on the same machine
--no-write      print only
--no-memory     do not measure peak memory
--render        measure nothing, write again what was measured last
"""

import os
import sys

from _environment import ROOT, become, ensure, python


def main() -> None:
    """Set up, and go on as the benchmarks, whose exit code is the script's."""
    arguments = sys.argv[1:]
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return
    ensure("bench")
    os.chdir(str(ROOT))
    become([str(python()), "-m", "benchmarks", *arguments])


if __name__ == "__main__":
    main()
