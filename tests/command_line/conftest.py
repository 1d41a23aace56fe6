"""What tests of commands share: a folder of their own, and commands that succeed or are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpcore.command_line import main as cli
from tests.command_line.tables import SECRET, names, write_tables


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tables(folder):
    """The current folder, which has t.csv and t.parquet."""
    write_tables(folder)
    return folder


@pytest.fixture
def ran(capsys):
    """Run a command that has to succeed without a warning, and return what it prints."""

    def run(*argv: str) -> str:
        code = cli.main([*argv])
        captured = capsys.readouterr()
        assert (code, captured.err) == (0, "")
        return captured.out

    return run


@pytest.fixture
def refused(capsys):
    """Run a command that has to fail, and return its error.

    It is one line that quotes no record; nothing else is printed, and no file is new or gone.
    """

    def run(*argv: str) -> str:
        before = names(Path())
        code = cli.main([*argv])
        captured = capsys.readouterr()
        assert (code, captured.out, names(Path())) == (2, "", before)
        assert captured.err.startswith("dpcore: error: ")
        assert captured.err.count("\n") == 1
        assert SECRET not in captured.err
        return captured.err.removeprefix("dpcore: error: ").rstrip()

    return run
