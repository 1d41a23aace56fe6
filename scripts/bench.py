"""Measure: ``python scripts/bench.py [--quick] [--job NAME ... [--update]] [--no-write]``.

Times dpcore beside NumPy, SciPy and other libraries, in one run on this machine, checks that all
answers agree, and prints tables. Writes docs/measured/benchmarks.md, docs/measured/benchmarks.png
and the table in README.md. The first start makes ``.venv`` in the clone.

--quick         fewer and smaller sizes
--job NAME ...  only these jobs, and write nothing; a wrong name lists all jobs
--update        with --job: put the new times of these jobs into the tables; same machine only
--no-write      print only
--no-memory     do not measure peak memory
--render        measure nothing, write the pages again from the last results
"""

import os
import sys

from _environment import ROOT, become, ensure, python


def main() -> None:
    """Set up, run the benchmarks, and end with their exit code."""
    arguments = sys.argv[1:]
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return
    ensure("bench")
    os.chdir(str(ROOT))
    become([str(python()), "-m", "benchmarks", *arguments])


if __name__ == "__main__":
    main()
