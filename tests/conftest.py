"""What all tests share: where kernels are cached, and which tests run."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

# A folder of the tests alone; within it, kernels have a folder for each state of their sources.
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / "dpcore-tests"))


hypothesis.settings.register_profile("untimed", deadline=None)  # machines are busy
hypothesis.settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def no_budgets_of_other_tests():
    """Threads of a test are not refused because a budget of another test has ended."""
    yield
    spending = sys.modules.get("dpcore.privacy.spending")
    if spending is not None:
        spending._ended.clear()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="also run slow audits and studies")


def pytest_configure(config: pytest.Config) -> None:
    import numba

    if numba.config.DISABLE_JIT:  # interpreted kernels warn of infinities, and where sums wrap
        config.addinivalue_line("filterwarnings", "ignore:invalid value encountered in scalar")
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered in scalar")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    import numba

    full = pytest.mark.skip(reason="slow: run with --full")
    compiled = pytest.mark.skip(reason="draws or counts too much for interpreted kernels")
    few = pytest.mark.skip(reason="one of many cases: run with --full")
    cases = Counter(item.nodeid.partition("[")[0] for item in items)
    seen: Counter[str] = Counter()
    few_records = pytest.mark.filterwarnings("ignore::dpcore.DpcoreWarning")
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):  # examples in docstrings do not warn
            item.add_marker(few_records)
        # Keywords would also be the names of folders above the clone.
        if item.get_closest_marker("full") and not config.getoption("--full"):
            item.add_marker(full)
        if (sample := item.get_closest_marker("sample")) and not config.getoption("--full"):
            name = item.nodeid.partition("[")[0]
            (size,) = sample.args
            seen[name] += 1
            if seen[name] * size // cases[name] == (seen[name] - 1) * size // cases[name]:
                item.add_marker(few)
        if item.get_closest_marker("needs_jit") and numba.config.DISABLE_JIT:
            item.add_marker(compiled)
