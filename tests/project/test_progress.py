import io
import re
import sys
import types

import pytest

from dpcore import _progress
from dpcore._progress import Progress


class Clock:
    """A clock that a test moves."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(_progress.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def shown(clock, steps, total=100, **options):
    with Progress("counting", **options) as progress:
        for now, done in steps:
            clock.now = now
            progress.show(done, total, "rows")


def test_a_line_every_thirty_seconds_without_a_screen(clock, capsys):
    shown(clock, [(29, 10), (30, 15), (45, 20), (61, 50)], shown=None)
    assert capsys.readouterr().err.splitlines() == [
        "dpcore: counting: 15 of 100 rows, 2:50 left",
        "dpcore: counting: 50 of 100 rows, 1:01 left",
    ]


def test_a_line_without_a_total_says_how_much_is_done(clock, capsys):
    shown(clock, [(31, 1_500_000)], total=None, shown=None)
    assert capsys.readouterr().err == "dpcore: counting: 1,500,000 rows\n"


def test_nothing_is_shown_on_request_or_without_standard_error(clock, capsys, monkeypatch):
    shown(clock, [(31, 10)], shown=False)
    monkeypatch.setattr(sys, "stderr", None)
    shown(clock, [(31, 10)], shown=None)
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("notebook", [False, True])
def test_a_screen_gets_a_bar_with_the_time_that_is_left(clock, monkeypatch, notebook):
    screen = io.StringIO() if notebook else Terminal()
    if notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(_progress, "_SECONDS_TO_A_BAR", 0)
    shown(clock, [(10, 25), (20, 100)], shown=None)
    assert re.search(r"counting: 100%\|.*\| 100/100 rows .*0:00 left", screen.getvalue())


def test_short_work_shows_no_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress("counting", None) as progress:
        progress.show(1, 2)
    assert sys.stderr.getvalue() == ""


def test_a_terminal_without_tqdm_gets_lines(clock, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    shown(clock, [(30, 50)], shown=None)
    assert sys.stderr.getvalue() == "dpcore: counting: 50 of 100 rows, 0:30 left\n"


def test_a_notebook_without_widgets_is_not_told_to_install_them(tmp_path, monkeypatch):
    """tqdm warns as it is imported; warnings are errors here."""
    (tmp_path / "tqdm").mkdir()
    (tmp_path / "tqdm" / "__init__.py").write_text("")
    (tmp_path / "tqdm" / "auto.py").write_text(
        "import warnings\nwarnings.warn('IProgress not found')\ntqdm = dict\n"
    )
    for name in [name for name in sys.modules if name.partition(".")[0] == "tqdm"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    assert _progress._bar("counting", 0)["desc"] == "counting"
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.delitem(sys.modules, name)


def test_hours_are_shown_as_such(clock, capsys):
    shown(clock, [(3_600, 50)], shown=None)
    assert "1:00:00 left" in capsys.readouterr().err
