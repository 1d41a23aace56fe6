"""Budgets in files: kept, shared by processes, and never less than what was spent."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor

import pytest

import dpcore as dp
from dpcore.records.sources import FileError

SPEND = """
import sys, dpcore as dp
charged, budget = 0, dp.Budget.open(sys.argv[1])
for _ in range(int(sys.argv[2])):
    try:
        budget.charge(dp.Privacy(1 / 32))
        charged += 1
    except dp.BudgetError:
        pass
print(charged)
"""
FOREVER = """
import sys, dpcore as dp
budget = dp.Budget.open(sys.argv[1])
grid = dp.Grid.uniform(0, 1, 4)
with budget:
    while True:
        curve = dp.cdf([0.5], grid, epsilon=1 / 1024)
        print("released", flush=True)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.sqlite"


def test_it_is_there_tomorrow(path):
    with dp.Budget.open(path, epsilon=1.0, delta=1e-6) as first:
        dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), epsilon=0.25)
    again = dp.Budget.open(str(path))
    assert again.cap == dp.Privacy(1.0, 1e-6)
    assert again.log == first.log
    assert again.log[0].what == "cdf"
    assert again.spent.epsilon == 0.25
    assert again.log[0].time.tzinfo is not None


def test_guarantees_come_back_exactly(path):
    budget = dp.Budget.open(path, rho=1.0, delta=0.5, neighbours="add-or-remove-one")
    costs = [
        dp.Privacy(0.1, 1e-300, "add-or-remove-one", simulated=True),
        dp.Privacy(rho=5e-324, neighbours="add-or-remove-one"),
        dp.Privacy(1 / 3, neighbours="add-or-remove-one"),
        dp.Privacy(1 / 3, neighbours="add-or-remove-one"),
        dp.Privacy(1 / 3, 0.25, "add-or-remove-one"),  # alike but for delta
        dp.Privacy(rho=0.125, neighbours="add-or-remove-one"),  # but for rho
        dp.Privacy(1 / 3, neighbours="add-or-remove-one", simulated=True),  # but for the noise
    ]
    for cost in costs:
        budget.charge(cost, "a 'quoted' name")
    again = dp.Budget.open(path)
    assert [each.privacy for each in again.log] == costs
    assert again.spent == budget.spent
    in_memory = dp.Budget(rho=1.0, delta=0.5, neighbours="add-or-remove-one")
    for cost in costs:
        in_memory.charge(cost)
    assert again.spent == in_memory.spent
    assert again.remaining == in_memory.remaining


def test_processes_share_it(path):
    dp.Budget.open(path, epsilon=1.0)
    command = [sys.executable, "-c", SPEND, str(path), "20"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert sum(int(each.communicate()[0]) for each in running) == 32
    assert dp.Budget.open(path).spent.epsilon == 1.0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
def test_after_a_kill_no_release_is_forgotten(path):
    dp.Budget.open(path, epsilon=100.0)
    command = [sys.executable, "-c", FOREVER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        seen = 0
        while seen < 10:
            seen += running.stdout.readline() == "released\n"
        running.send_signal(signal.SIGKILL)
        seen += running.stdout.read().count("released\n")
    charged = len(dp.Budget.open(path).log)
    assert seen <= charged <= seen + 1


def test_the_charge_is_in_the_file_before_the_noise_is_drawn(path, monkeypatch):
    counted = []

    def look(mechanism, counts, rng):
        counted.append(len(dp.Budget.open(path).log))
        raise KeyboardInterrupt

    monkeypatch.setattr("dpcore.releases.cdf.release_with_deviation", look)
    with dp.Budget.open(path, epsilon=1.0) as budget, pytest.raises(KeyboardInterrupt):
        dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), epsilon=0.25)
    assert counted == [1]
    assert budget.spent.epsilon == 0.25  # it may have been drawn: it stays charged


def test_two_budgets_of_one_file_are_one(path):
    first, second = dp.Budget.open(path, epsilon=1.0), dp.Budget.open(path)
    with first, second:
        dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), epsilon=0.25)
    assert len(first.log) == len(second.log) == 1


def test_two_files_are_two_where_files_have_no_numbers(tmp_path, monkeypatch):
    """Some file systems of networks and of Windows give the number 0 to all files."""
    budgets = [dp.Budget.open(tmp_path / name, epsilon=30.0) for name in ("a", "b")]
    real = os.stat

    def without_numbers(path, *args, **options):
        found = real(path, *args, **options)
        fields = {name: getattr(found, name) for name in ("st_mode", "st_size", "st_nlink")}
        return types.SimpleNamespace(**fields, st_ino=0, st_dev=0)

    monkeypatch.setattr("dpcore.privacy.file_ledgers.os.stat", without_numbers)
    keys = [budget._key for budget in budgets]
    again = dp.Budget.open(tmp_path / "a")._key
    with budgets[0], budgets[1]:
        dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), epsilon=15.0)
    spent = [budget.spent.epsilon for budget in budgets]
    monkeypatch.undo()
    assert keys[0] != keys[1]
    assert keys[0] == again
    assert spent == [15.0, 15.0]


def test_of_two_files_both_are_charged_or_none(tmp_path):
    wide = dp.Budget.open(tmp_path / "a", epsilon=1.0)
    narrow = dp.Budget.open(tmp_path / "b", epsilon=0.25)
    with narrow, wide:
        dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), epsilon=0.25)
        with pytest.raises(dp.BudgetError):
            dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), epsilon=0.25)
    assert (len(wide.log), len(narrow.log)) == (1, 1)


def test_files_that_are_none(path, tmp_path):
    with pytest.raises(FileError, match="unable to open"):
        dp.Budget.open(path)
    assert not path.exists()
    with pytest.raises(FileError):
        dp.Budget.open(tmp_path / "nowhere" / "budget", epsilon=1.0)
    text = tmp_path / "text"
    text.write_text("epsilon = 1\n" * 100)
    for caps in ({}, {"epsilon": 1.0}):
        with pytest.raises(dp.FormatError, match="does not hold a budget"):
            dp.Budget.open(text, **caps)
    assert text.read_text() == "epsilon = 1\n" * 100
    other = tmp_path / "other"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE cap (x)")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(dp.FormatError, match="does not hold a budget"):
        dp.Budget.open(other, epsilon=1.0)
    assert other.read_bytes() == before


def test_another_cap_or_format_is_refused(path):
    dp.Budget.open(path, epsilon=1.0)
    dp.Budget.open(path, epsilon=1.0)
    for caps in ({"epsilon": 2.0}, {"rho": 1.0}, {"epsilon": 1.0, "delta": 1e-6}):
        with pytest.raises(dp.ParameterError, match=r"^path must have the cap"):
            dp.Budget.open(path, **caps)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 4")
    connection.close()
    with pytest.raises(dp.FormatError, match="has format 4"):
        dp.Budget.open(path)


def test_a_file_that_is_gone_refuses(path):
    budget = dp.Budget.open(path, epsilon=1.0)
    os.remove(path)
    with pytest.raises(FileError):
        budget.charge(dp.Privacy(0.5))
    assert not path.exists()


def test_a_path_that_is_none():
    for wrong in (None, 3, ""):
        with pytest.raises(dp.DtypeError, match=r"^path must be a file's path"):
            dp.Budget.open(wrong, epsilon=1.0)


def test_a_busy_file_is_waited_for(path):
    budget = dp.Budget.open(path, epsilon=1.0)
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    code = "import sys, dpcore as dp; dp.Budget.open(sys.argv[1]).charge(dp.Privacy(0.5))"
    with subprocess.Popen([sys.executable, "-c", code, str(path)]) as waiting:
        time.sleep(1.0)
        assert waiting.poll() is None
        holder.execute("ROLLBACK")
        assert waiting.wait() == 0
    holder.close()
    assert budget.spent.epsilon == 0.5


def test_a_link_to_the_file_is_the_file(path, tmp_path):
    budget, link = dp.Budget.open(path, epsilon=1.0), tmp_path / "link"
    try:
        link.symlink_to(path)
    except OSError:
        pytest.skip("there are no links here")
    with budget, dp.Budget.open(link) as same:
        dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), epsilon=0.25)
    assert len(budget.log) == len(same.log) == 1


def test_a_second_hard_link_is_refused(path, tmp_path):
    """The journal goes by the name: after a crash it would undo charges under another name."""
    budget, link = dp.Budget.open(path, epsilon=1.0), tmp_path / "link"
    try:
        os.link(path, link)
    except OSError:
        pytest.skip("there are no hard links here")
    for ask in (lambda: dp.Budget.open(link), lambda: budget.charge(dp.Privacy(0.5))):
        with pytest.raises(FileError, match="has 2 hard links"):
            ask()
    with pytest.raises(FileError, match="has 2 hard links"), budget:
        dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), epsilon=0.25)
    link.unlink()
    assert budget.log == ()


def test_two_spellings_of_a_path_are_one_file(tmp_path, monkeypatch):
    """Also of a disk that does not tell capital letters apart: the file is known by its number."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    first = dp.Budget.open("folder/budget", epsilon=1.0)
    others = [
        dp.Budget.open(each)
        for each in ("folder/../folder/budget", "./folder//budget", tmp_path / "folder" / "budget")
    ]
    assert {each._key for each in others} == {first._key}
    with first, others[0], others[1], others[2]:
        dp.cdf([0.5], dp.Grid.uniform(0, 1, 4), epsilon=0.25)
    assert len(first.log) == 1


def test_it_is_the_same_file_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    budget = dp.Budget.open("budget", epsilon=1.0)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    budget.charge(dp.Privacy(0.5))
    assert len(dp.Budget.open(tmp_path / "budget").log) == 1


def test_an_empty_file_is_no_new_budget(path, monkeypatch):
    """A budget is made whole. So an empty file is one that was cut, and its charges are gone."""
    monkeypatch.setattr("dpcore.privacy.file_ledgers._STEPS", 2)
    path.touch()
    for cap in ({}, {"epsilon": 1.0}):
        with pytest.raises(dp.FormatError, match="is empty"):
            dp.Budget.open(path, **cap)
    assert path.read_bytes() == b""
    path.unlink()
    assert dp.Budget.open(path, rho=1.0, neighbours="replace-client").cap.rho == 1.0
    assert dp.Budget.open(path).neighbours == "replace-client"
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_of_those_who_make_the_file_at_once_one_does(path):
    with ThreadPoolExecutor(8) as pool:
        budgets = list(pool.map(lambda _: dp.Budget.open(path, epsilon=1.0), range(8)))
    for budget in budgets:
        budget.charge(dp.Privacy(0.125))
    assert [budget.spent.epsilon for budget in budgets] == [1.0] * 8
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", ["-journal", "-wal"])
def test_a_journal_of_an_older_file_is_never_read_into_a_new_one(path, kind):
    path.with_name(path.name + kind).write_bytes(b"journal")
    with pytest.raises(FileError, match="a journal of an older file"):
        dp.Budget.open(path, epsilon=1.0)
    assert not path.exists()


def test_a_journal_that_a_crash_left_behind_is_taken_back(path):
    """What was not committed was never released."""
    dp.Budget.open(path, epsilon=1.0).charge(dp.Privacy(0.25))
    code = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('PRAGMA cache_size = 1'); c.execute('BEGIN IMMEDIATE'); s = 'y' * 5000;"
        "[c.execute('INSERT INTO charges VALUES (NULL, ?, ?, 0.5, 0.0, NULL, 0, ?)', ('x', s, s))"
        " for _ in range(99)]; os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert path.with_name(path.name + "-journal").stat().st_size > 0
    again = dp.Budget.open(path)
    again.charge(dp.Privacy(0.5))
    assert [each.privacy.epsilon for each in again.log] == [0.25, 0.5]
