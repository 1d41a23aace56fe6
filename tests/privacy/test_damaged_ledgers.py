"""Files of budgets that somebody else has changed, and disks that are full: nothing is released."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest

import dpcore as dp
from dpcore.privacy import ledger_tables
from dpcore.privacy.file_ledgers import FileLedger
from dpcore.records.sources import FileError

GRID = dp.Grid.uniform(0, 1, 4)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.sqlite"


def run(path, *commands):
    connection = sqlite3.connect(path, isolation_level=None)
    for command in commands:
        connection.execute(command)
    connection.close()


@pytest.mark.parametrize(
    "other",
    [{"epsilon": 9.0}, {"epsilon": 1.0, "neighbours": "add-or-remove-one"}, {"epsilon": 1.0}],
)
def test_the_file_of_another_budget_in_its_place_is_refused(path, tmp_path, other):
    budget = dp.Budget.open(path, epsilon=1.0)
    dp.Budget.open(tmp_path / "other", **other)
    (tmp_path / "other").replace(path)
    for ask in (
        lambda: budget.charge(dp.Privacy(0.5)),
        lambda: budget.spent,
        lambda: budget.log,
        lambda: repr(budget),
    ):
        with pytest.raises(dp.FormatError, match="now holds another budget"):
            ask()
    assert dp.Budget.open(path).log == ()


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM cap",
        "UPDATE cap SET epsilon = 'x'",
        "UPDATE cap SET neighbours = 'x'",
        "INSERT INTO charges VALUES (1, 'never', 'cdf', -1.0, 0.0, NULL, 0, x'00')",
        "INSERT INTO charges VALUES (1, 'never', 'cdf', 'x', 0.0, NULL, 0, x'00')",
        "INSERT INTO charges VALUES (1, 'never', 'cdf', 9e999, 0.0, NULL, 0, x'00')",
    ],
)
def test_a_file_that_was_changed_by_hand_is_refused(path, damage):
    budget = dp.Budget.open(path, epsilon=1.0)
    run(path, damage)
    with pytest.raises(dp.FormatError, match="is damaged"):
        budget.charge(dp.Privacy(0.5))
    with pytest.raises(dp.FormatError, match="is damaged"):
        _ = budget.log


@pytest.mark.parametrize(
    "trigger",
    [
        "CREATE TRIGGER t BEFORE INSERT ON charges BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t AFTER INSERT ON charges BEGIN DELETE FROM charges; END",
        "CREATE TRIGGER t BEFORE UPDATE ON spent BEGIN SELECT RAISE(IGNORE); END",
    ],
)
def test_triggers_that_lose_charges_are_refused(path, trigger):
    budget = dp.Budget.open(path, epsilon=1.0)
    run(path, trigger)
    with pytest.raises(dp.FormatError, match="triggers"), budget:
        dp.cdf([0.5], GRID, epsilon=0.5)
    run(path, "DROP TRIGGER t")
    assert budget.log == ()


FULL = """
import resource, signal, sys, dpcore as dp
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
in_file, in_memory = dp.Budget.open(sys.argv[1]), dp.Budget(epsilon=1.0)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
with in_file, in_memory:
    try:
        dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), epsilon=0.5)
    except dp.DpcoreError as error:
        print(type(error).__name__, error)
print(len(in_file.log), len(in_memory.log))
"""


def test_nothing_is_released_where_the_disk_is_full(path):
    pytest.importorskip("resource")
    dp.Budget.open(path, epsilon=1.0)
    command = [sys.executable, "-c", FULL, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told, counts = done.stdout.splitlines()
    assert told.startswith("FileError")
    assert "rollback" not in told
    assert counts == "0 0"


def test_what_was_spent_can_be_read_while_somebody_charges(path):
    budget = dp.Budget.open(path, epsilon=1.0)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert repr(budget) == "Budget(epsilon=1.0): spent 0 in 0 releases, remaining 1"
    assert budget.remaining.epsilon == 1.0
    holder.execute("ROLLBACK")
    holder.close()


def test_a_path_with_a_null_character(tmp_path):
    with pytest.raises(dp.ParameterError, match=r"^path must not contain a null character"):
        dp.Budget.open(f"{tmp_path}/a\0b", epsilon=1.0)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileError):
        dp.Budget.open(tmp_path, epsilon=1.0)


def test_the_file_of_another_program_is_left_as_it_is(path):
    run(path, "CREATE TABLE t (x)", "PRAGMA user_version = 1")
    before = path.read_bytes()
    for cap in ({}, {"epsilon": 1.0}):
        with pytest.raises(dp.FormatError, match="does not hold a budget"):
            dp.Budget.open(path, **cap)
    assert path.read_bytes() == before


def test_one_kind_of_charge_with_and_without_seeds(path):
    budget = dp.Budget.open(path, epsilon=2.0)
    budget.charge(dp.Privacy(0.5, simulated=True))
    budget.charge(dp.Privacy(0.5))
    assert budget.spent == dp.Privacy(1.0, simulated=True)


def test_charges_go_through_the_caches_of_disks(path):
    dp.Budget.open(path, epsilon=1.0)
    with FileLedger(path, None).held() as page:
        asked = (
            page.connection.execute(f"PRAGMA {each}").fetchone()[0]
            for each in ("synchronous", "fullfsync", "journal_mode")
        )
        assert list(asked) == [3, 1, b"delete"]


def test_if_one_of_two_files_cannot_be_written_neither_is(tmp_path, monkeypatch):
    budgets = [dp.Budget.open(tmp_path / name, epsilon=1.0) for name in "ab"]
    calls = []

    def add(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise sqlite3.OperationalError("why")
        return real(*arguments)

    real = ledger_tables.add
    monkeypatch.setattr(ledger_tables, "add", add)
    with budgets[0], budgets[1], pytest.raises(FileError, match="cannot be used as a budget: why"):
        dp.cdf([0.5], GRID, epsilon=0.5)
    assert len(calls) == 2
    assert budgets[0].log == budgets[1].log == ()
