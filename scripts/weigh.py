"""What the project weighs: ``python scripts/weigh.py [--tests]``.

Prints the size of the code and of the documentation, how far single ideas are spread over the
library, and how long a start takes.

--tests    also how long the tests take, with the environment made before

A line of code holds something else than a comment or a docstring. A word is what stands between
spaces, outside docs/measured and of what scripts write into other pages. Times of starts are
medians over processes of their own. The first start makes ``.venv``.
"""

import argparse
import ast
import io
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Iterable
from pathlib import Path

import _spread
from _environment import ROOT, ensure, keep_machine_code, python

_HAVE_BODIES = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_WRITTEN = re.compile(r"<!-- .*?: start -->.*?: end -->", re.DOTALL)  # by scripts, in a page
_IMPORT = "import dpcore"
_FIRST_CDF = """
import dpcore, numpy
values = numpy.random.default_rng(1).random(1_000)
dpcore.cdf(values, dpcore.Grid.uniform(0, 1, 128), epsilon=1.0)
"""
_TIMED = "import time; began = time.perf_counter()\n{}\nprint(time.perf_counter() - began)"


def main() -> None:
    """Print all numbers, each with what it is to stay below, if there is such a limit."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--tests", action="store_true")
    arguments = parser.parse_args()
    ensure("test")
    keep_machine_code()
    plumbing = sum(map(lines_of_code, (ROOT / "kernels").glob("*.py")))
    _print("lines of code in the kernels' plumbing", f"{plumbing:,}", "250")
    for folders in (["dpcore", "kernels"], ["tests"], ["benchmarks"], ["scripts"]):
        lines = sum(map(lines_of_code, _sources(folders)))
        _print(f"lines of code in {' and '.join(folders)}", f"{lines:,}")
    by_hand = set((ROOT / "docs").rglob("*.md")) - set((ROOT / "docs" / "measured").rglob("*.md"))
    words = sum(len(_WRITTEN.sub("", page.read_text("utf-8")).split()) for page in by_hand)
    _print("words in docs, written by hand", f"{words:,}", "65,000")
    for what, number in _spread.lines():
        _print(what, number)
    _print("seconds to import dpcore", f"{_seconds(_IMPORT):.3f}", "0.05")
    _print("seconds of a first cdf, with its imports", f"{_seconds(_FIRST_CDF):.2f}", "1.0")
    with tempfile.TemporaryDirectory() as empty:
        seconds = _seconds(_FIRST_CDF, runs=1, NUMBA_CACHE_DIR=empty)
    _print("seconds of a first cdf, nothing compiled before", f"{seconds:.2f}", "6")
    if arguments.tests:
        began = time.perf_counter()
        ended = subprocess.run([sys.executable, str(ROOT / "scripts" / "test.py"), "-q"])
        took = f"{time.perf_counter() - began:.0f}" if ended.returncode == 0 else "failed"
        _print("seconds of python scripts/test.py", took, "240")


def lines_of_code(path: Path) -> int:
    """Return how many lines hold something else than comments and docstrings."""
    source = path.read_text("utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _HAVE_BODIES) and ast.get_docstring(node) is not None:
            lines.difference_update(range(node.body[0].lineno, _end(node.body[0]) + 1))
    return len(lines)


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _sources(folders: Iterable[str]) -> set[Path]:
    """Return the files of folders; kernels once, though dpcore has a link to them."""
    return {path.resolve() for folder in folders for path in (ROOT / folder).rglob("*.py")}


def _seconds(code: str, runs: int = 5, **variables: str) -> float:
    """Return how long a new process takes for this code, beyond the start of Python."""
    command = [str(python()), "-c", _TIMED.format(code)]
    environment = {**os.environ, **variables}
    times = [
        float(subprocess.check_output(command, cwd=str(ROOT), env=environment, text=True))
        for _ in range(runs)
    ]
    return statistics.median(times)


def _print(what: str, number: str, limit: str = "") -> None:
    print(f"{what:<54}{number:>9}" + (f"   (at most {limit})" if limit else ""), flush=True)


if __name__ == "__main__":
    main()
