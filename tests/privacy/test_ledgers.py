"""Budgets in files: kept, shared by processes, and never less than what was spent."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import dpcore as dp
from dpcore.privacy import ledger_tables
from dpcore.privacy.file_ledgers import FileLedger
from dpcore.records.sources import FileError
from dpcore.studies import files
from tests.privacy.budget_files import ASKED, GRID, execute, run

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


def spend(epsilon=0.25):
    return dp.cdf([0.5], GRID, epsilon=epsilon)


# --- what is kept


def test_guarantees_come_back_exactly_tomorrow(path):
    terms = {"rho": 1.0, "delta": 0.5, "neighbours": "add-or-remove-one"}
    budgets = [dp.Budget.open(str(path), **terms), dp.Budget(**terms)]
    costs = [
        dp.Privacy(0.1, 1e-300, "add-or-remove-one", simulated=True),
        dp.Privacy(rho=5e-324, neighbours="add-or-remove-one"),
        dp.Privacy(1 / 3, neighbours="add-or-remove-one"),
        dp.Privacy(1 / 3, neighbours="add-or-remove-one"),
        dp.Privacy(1 / 3, 0.25, "add-or-remove-one"),  # alike but for delta
        dp.Privacy(rho=0.125, neighbours="add-or-remove-one"),  # but for rho
        dp.Privacy(1 / 3, neighbours="add-or-remove-one", simulated=True),  # but for the noise
    ]
    for budget in budgets:
        for cost in costs:
            budget.charge(cost, "a 'quoted' name")
    again = dp.Budget.open(path)
    assert again.log == budgets[0].log
    assert [(charge.what, charge.privacy) for charge in again.log] == [
        ("a 'quoted' name", cost) for cost in costs
    ]
    assert again.log[0].time.tzinfo is not None
    for budget in budgets:
        assert again.cap == budget.cap
        assert (again.spent, again.remaining) == (budget.spent, budget.remaining)


def test_processes_share_it(path):
    dp.Budget.open(path, epsilon=1.0)
    command = [sys.executable, "-c", SPEND, str(path), "20"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sum(int(process.communicate()[0]) for process in running) == 32
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

    def look(mechanism, counts, *, rng):
        counted.append(len(dp.Budget.open(path).log))
        raise KeyboardInterrupt

    monkeypatch.setattr(dp.mechanisms.Mechanism, "release_with_deviation", look)
    with dp.Budget.open(path, epsilon=1.0) as budget, pytest.raises(KeyboardInterrupt):
        spend()
    assert counted == [1]
    assert budget.spent.epsilon == 0.25  # it may have been drawn: it stays charged


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
    with budgets[0], budgets[1], pytest.raises(FileError, match="why"):
        spend()
    assert len(calls) == 2
    assert budgets[0].log == budgets[1].log == ()


def test_a_busy_file_is_waited_for_and_can_be_read_meanwhile(path):
    budget = dp.Budget.open(path, epsilon=1.0)
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    assert repr(budget) == "Budget(epsilon=1.0): spent 0 in 0 releases, remaining 1"
    assert budget.remaining.epsilon == 1.0
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(budget.charge, dp.Privacy(0.5))
        time.sleep(0.3)
        assert not waiting.done()
        holder.execute("ROLLBACK")
        waiting.result()
    holder.close()
    assert budget.spent.epsilon == 0.5


def test_charges_go_through_the_caches_of_disks(path):
    dp.Budget.open(path, epsilon=1.0)
    with FileLedger(path, None).held() as page:
        asked = (
            page.connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("synchronous", "fullfsync", "journal_mode")
        )
        assert list(asked) == [3, 1, b"delete"]


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
    told, counts = run(FULL, path).splitlines()
    assert told.startswith("FileError")
    assert "rollback" not in told
    assert counts == "0 0"


# --- which file it is


def test_one_file_is_one_budget_whatever_path_leads_to_it(tmp_path, monkeypatch):
    """Also of a disk that does not tell capital letters apart: the file is known by its number."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    paths = ["folder/budget", "folder/../folder/budget", "./folder//budget", folder / "budget"]
    try:
        (tmp_path / "link").symlink_to(folder / "budget")
        paths.append("link")
    except OSError:
        pass  # there are no links here
    budgets = [dp.Budget.open(name, epsilon=1.0) for name in paths]
    assert len({budget._key for budget in budgets}) == 1
    monkeypatch.chdir(folder)
    with budgets[0], budgets[1], budgets[-1]:
        spend()
    budgets[0].charge(dp.Privacy(0.5))
    assert [len(budget.log) for budget in budgets] == [2] * len(budgets)
    assert sorted(os.listdir(folder)) == ["budget"]


def test_a_second_hard_link_is_refused(path, tmp_path):
    """The journal goes by the name: after a crash it would undo charges under another name."""
    budget, link = dp.Budget.open(path, epsilon=1.0), tmp_path / "link"
    try:
        os.link(path, link)
    except OSError:
        pytest.skip("there are no hard links here")
    for ask in (lambda: dp.Budget.open(link), lambda: budget.charge(dp.Privacy(0.5)), spend):
        with pytest.raises(FileError, match="2 hard links"), budget:
            ask()
    link.unlink()
    assert budget.log == ()


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (None, FileError),
        ("CREATE TABLE cap (x)", dp.FormatError),
        ("CREATE TABLE t (x); PRAGMA user_version = 1", dp.FormatError),
        ("text", dp.FormatError),
    ],
)
def test_what_is_no_budget_is_refused_and_left_as_it_is(path, script, kind):
    if script == "text":
        path.write_text("epsilon = 1\n" * 100)
    elif script is not None:
        execute(path, script)
    before = path.read_bytes() if script else None
    for cap in ({}, {"epsilon": 1.0}) if script else ({},):
        with pytest.raises(kind, match=path.name):
            dp.Budget.open(path, **cap)
    assert (path.read_bytes() if path.exists() else None) == before


def test_paths_that_are_none(tmp_path):
    for wrong in (None, 3, ""):
        with pytest.raises(dp.DtypeError, match="path"):
            dp.Budget.open(wrong, epsilon=1.0)
    with pytest.raises(dp.ParameterError, match="path"):
        dp.Budget.open(f"{tmp_path}/a\0b", epsilon=1.0)
    for nowhere in (tmp_path, tmp_path / "nowhere" / "budget"):
        with pytest.raises(FileError):
            dp.Budget.open(nowhere, epsilon=1.0)
    assert list(tmp_path.iterdir()) == []
    text = tmp_path / "text"
    text.touch()
    with pytest.raises(FileError, match="text"):  # in the place of the folder
        dp.Budget.open(text / "budget", epsilon=1.0)


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps the folder of a process")
def test_without_a_folder_there_is_no_relative_path(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for ask in (
        lambda: dp.Budget.open("own", epsilon=1.0),
        lambda: dp.studies.load("own"),
        lambda: files.find("own.py"),
    ):
        with pytest.raises(FileError, match=r"'own.* cannot be found"):
            ask()


def test_another_cap_or_format_is_refused(path):
    dp.Budget.open(path, epsilon=1.0)
    dp.Budget.open(path, epsilon=1.0)
    for caps in ({"epsilon": 2.0}, {"rho": 1.0}, {"epsilon": 1.0, "delta": 1e-6}):
        with pytest.raises(dp.ParameterError, match="path"):
            dp.Budget.open(path, **caps)
    with pytest.raises(dp.ParameterError, match=r"1\.00000000001, .*has .*1\.0, "):
        dp.Budget.open(path, epsilon=1.00000000001)  # the caps differ in their last digits
    execute(path, "PRAGMA user_version = 6")
    with pytest.raises(dp.FormatError, match="format 6"):
        dp.Budget.open(path)


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_file_that_is_gone_refuses(path, ask):
    budget = dp.Budget.open(path, epsilon=1.0)
    os.remove(path)
    with pytest.raises(FileError):
        ask(budget)
    assert not path.exists()


# --- how it is made


def test_an_empty_file_is_no_new_budget(path, monkeypatch):
    """A budget is made whole. So an empty file is one that was cut, and its charges are gone."""
    monkeypatch.setattr("dpcore.privacy.file_ledgers._STEPS", 2)
    path.touch()
    for cap in ({}, {"epsilon": 1.0}):
        with pytest.raises(dp.FormatError, match="empty"):
            dp.Budget.open(path, **cap)
    assert path.read_bytes() == b""
    path.unlink()
    assert dp.Budget.open(path, rho=1.0, neighbours="replace-client").cap.rho == 1.0
    assert dp.Budget.open(path).neighbours == "replace-client"
    assert os.listdir(path.parent) == [path.name]


def test_of_those_who_make_the_file_at_once_one_does(path):
    with ThreadPoolExecutor(8) as pool:
        budgets = list(pool.map(lambda _: dp.Budget.open(path, epsilon=1.0), range(8)))
    for budget in budgets:
        budget.charge(dp.Privacy(0.125))
    assert [budget.spent.epsilon for budget in budgets] == [1.0] * 8
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("kind", ["-journal", "-wal"])
def test_a_journal_of_an_older_file_is_never_read_into_a_new_one(path, kind):
    path.with_name(path.name + kind).write_bytes(b"journal")
    with pytest.raises(FileError, match="journal"):
        dp.Budget.open(path, epsilon=1.0)
    assert not path.exists()


# --- labels


@pytest.mark.parametrize("where", ["memory", "file"])
def test_charges_keep_the_innermost_label_of_their_budget(path, where):
    budget = dp.Budget.open(path, epsilon=9.0) if where == "file" else dp.Budget(epsilon=9.0)
    other = dp.Budget(epsilon=9.0)
    with budget.label("monthly report"), other:
        spend()
        with budget.label("\N{GREEK SMALL LETTER EPSILON}'s"):
            spend()
        spend()
    with budget:
        spend()
    found = [charge.label for charge in budget.log]
    assert found == ["monthly report", "\N{GREEK SMALL LETTER EPSILON}'s", "monthly report", ""]
    assert [charge.label for charge in other.log] == ["", "", ""]
    if where == "file":
        assert dp.Budget.open(path).log == budget.log


def test_a_label_holds_for_all_objects_of_one_file_and_for_no_other_thread(path):
    first, second = dp.Budget.open(path, epsilon=9.0), dp.Budget.open(path)
    with second, first.label("both"), ThreadPoolExecutor() as pool:
        spend()
        second.charge(dp.Privacy(0.1), "by hand")
        pool.submit(spend).result()
    assert [charge.label for charge in first.log] == ["both", "both", ""]


def test_texts_of_other_types_are_stored_as_what_they_are(path):
    class Text(str):
        def encode(self, *_):
            return b"other"

        def isprintable(self):
            return True

    budget = dp.Budget.open(path, epsilon=9.0)
    with budget.label(Text("a")):
        budget.charge(dp.Privacy(0.5), Text("b"))
    (charge,) = dp.Budget.open(path).log
    assert (charge.label, charge.what) == ("a", "b")
    with pytest.raises(dp.ParameterError, match="what must be printable"):
        budget.charge(dp.Privacy(0.5), Text("two\nlines"))


@pytest.mark.parametrize("label", ["", "two\nlines", 5])
def test_what_is_no_label(label):
    budget = dp.Budget(epsilon=1.0)
    with pytest.raises(dp.DpcoreError, match=r"^label"), budget.label(label):
        pass
    spend()  # nothing watches
    assert budget.log == ()


def test_a_changed_label_is_damage(path):
    with dp.Budget.open(path, epsilon=9.0).label("a"):
        spend()
    dp.Budget.open(path).charge(dp.Privacy(0.1))
    for damage in (
        "label = 'b' WHERE id = 1",
        "label = '' WHERE id = 1",
        "label = 'b' WHERE id = 2",
    ):
        content = path.read_bytes()
        execute(path, f"UPDATE charges SET {damage}")
        with pytest.raises(dp.FormatError, match="is damaged"):
            dp.Budget.open(path)
        path.write_bytes(content)


def test_what_counts_twice_is_said(path):
    budget = dp.Budget.open(path, epsilon=1.0)
    budget.charge(dp.Privacy(0.25, neighbours="add-or-remove-one"), "a count")
    (charge,) = budget.log
    assert charge.what == "a count (0.25 by add-or-remove-one)"
    assert charge.privacy == dp.Privacy(0.5)
    with pytest.raises(dp.BudgetError, match=r"^a count \(0.375 by add-or-remove-one\) costs"):
        budget.charge(dp.Privacy(0.375, neighbours="add-or-remove-one"), "a count")
