"""What one budget's file has paid for is not paid by another file, nor by a copy of the file."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import types

import pytest

import dpcore as dp
from dpcore.records.sources import FileError

GRID = dp.Grid.uniform(0, 1, 4)
# Another process replaces the file, until the new one has the old one's number on the disk.
REPLACE = """
import os, sys, dpcore as dp
path, number = sys.argv[1], int(sys.argv[2])
os.remove(path)
for other in range(100):
    dp.Budget.open(path, epsilon=1.0)
    if os.stat(path).st_ino == number or other == 99:
        break
    os.rename(path, f"{path}.{other}")
"""
OPEN = "import sys, dpcore as dp; dp.Budget.open(sys.argv[1], epsilon=1.0)"


def counter():
    made = dp.streams.RunningCount(10, epsilon=1.0)
    return lambda: made.add(5)


def summed():
    counts = GRID.count([0.1, 0.5, 0.9])
    made = dp.trust.SimulatedSum(counts, dp.trust.DistributedNoise(1.0, clients=3))
    return lambda: made.sum([1, 2])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget"


def run(code, *arguments):
    command = [sys.executable, "-c", code, *(str(each) for each in arguments)]
    subprocess.run(command, check=True)


def number_all(monkeypatch, number):
    """Let all files have this number, as if each had been made after another one was deleted."""
    real = os.stat

    def numbered(path, *arguments, **options):
        given = real(path, *arguments, **options)
        fields = {name: getattr(given, name) for name in dir(given) if name.startswith("st_")}
        return types.SimpleNamespace(**{**fields, "st_ino": number})

    monkeypatch.setattr("dpcore.privacy.file_ledgers.os.stat", numbered)


def replace(path, monkeypatch):
    """Let another process make a new file of the same name, number and cap."""
    number = os.stat(path).st_ino
    run(REPLACE, path, number)
    if os.stat(path).st_ino != number:
        number_all(monkeypatch, number)


@pytest.mark.parametrize("made", [counter, summed])
def test_a_file_that_another_process_made_anew_under_the_same_number_has_not_paid(
    path, monkeypatch, made
):
    with dp.Budget.open(path, epsilon=1.0):
        use = made()
        use()
    replace(path, monkeypatch)
    with dp.Budget.open(path) as budget:
        use()
        use()
        with dp.Budget.open(path):  # the same budget
            use()
    assert [charge.privacy.epsilon for charge in budget.log] == [1.0]


@pytest.mark.parametrize("number", [0, 7])
def test_a_new_file_has_not_paid_whatever_the_disk_says(path, monkeypatch, number):
    """Some file systems of networks and of Windows give the number 0 to all files."""
    number_all(monkeypatch, number)
    with dp.Budget.open(path, epsilon=1.0):
        use = counter()
    path.unlink()
    run(OPEN, path)
    with dp.Budget.open(path) as budget:
        use()
        use()
    assert len(budget.log) == 1


def test_a_budget_that_was_open_is_not_the_new_file_in_its_place(path, monkeypatch):
    """Even if nothing had been charged, so that both files hold the same."""
    budget = dp.Budget.open(path, epsilon=1.0)
    replace(path, monkeypatch)
    for ask in (
        lambda: budget.charge(dp.Privacy(0.5)),
        lambda: budget.spent,
        lambda: budget.log,
    ):
        with pytest.raises(dp.FormatError, match="now holds another budget"):
            ask()
    assert dp.Budget.open(path).log == ()


@pytest.mark.parametrize("order", [b"\x00\xff", b"\xff\x00"])
def test_a_release_inside_of_the_old_file_and_the_new_one_is_refused_at_once(
    path, monkeypatch, order
):
    monkeypatch.setattr("dpcore.privacy.file_ledgers._PATIENCE", 0.01)
    number_all(monkeypatch, 7)
    identities = iter(order)
    monkeypatch.setattr(
        "dpcore.privacy.ledger_tables.os.urandom", lambda size: bytes([next(identities)]) * size
    )
    old = dp.Budget.open(path, epsilon=1.0)
    path.unlink()
    new = dp.Budget.open(path, epsilon=1.0)
    with old, new, pytest.raises(dp.FormatError, match="now holds another budget"):
        dp.cdf([0.5], GRID, epsilon=0.5)
    assert new.log == ()


@pytest.mark.parametrize("made", [counter, summed])
def test_a_copy_has_not_paid(path, tmp_path, made):
    copy = tmp_path / "copy"
    with dp.Budget.open(path, epsilon=2.0) as budget:
        use = made()
    shutil.copy(path, copy)
    with dp.Budget.open(copy) as other:
        use()
        use()
    with budget:
        use()
    assert (len(budget.log), len(other.log)) == (1, 2)


def test_a_copy_that_cannot_pay_refuses(path, tmp_path):
    with dp.Budget.open(path, epsilon=1.0):
        use = counter()
    shutil.copy(path, tmp_path / "copy")
    with dp.Budget.open(tmp_path / "copy") as other, pytest.raises(dp.BudgetError):
        use()
    assert len(other.log) == 1


def test_a_file_and_its_copy_are_two_budgets(path, tmp_path):
    budget = dp.Budget.open(path, epsilon=1.0)
    shutil.copy(path, tmp_path / "copy")
    with budget, dp.Budget.open(tmp_path / "copy") as other:
        dp.cdf([0.5], GRID, epsilon=0.5)
    assert len(budget.log) == len(other.log) == 1


def test_a_file_that_is_moved_is_the_same(path, tmp_path):
    with dp.Budget.open(path, epsilon=1.0):
        use = counter()
    if not os.stat(path).st_ino:
        pytest.skip("files have no numbers here")
    path.rename(tmp_path / "moved")
    with dp.Budget.open(tmp_path / "moved") as budget:
        use()
    assert len(budget.log) == 1


def test_a_file_that_is_gone_has_not_paid(path):
    with dp.Budget.open(path, epsilon=1.0) as budget:
        use = counter()
    path.unlink()
    key = budget._key
    with budget, pytest.raises(FileError):
        use()
    other = dp.Budget.open(path, epsilon=1.0)
    path.unlink()
    assert budget._key == key
    assert other._key != key


def test_identities_are_random_and_stay(path, tmp_path):
    def identity(path):
        connection = sqlite3.connect(path)
        ((stored,),) = connection.execute("SELECT identity FROM spent").fetchall()
        connection.close()
        return stored

    names = [tmp_path / str(number) for number in range(20)]
    budgets = [dp.Budget.open(each, epsilon=1.0) for each in names]
    before = [identity(each) for each in names]
    assert {len(each) for each in before} == {16}
    assert len(set(before)) == 20
    for budget in budgets:
        budget.charge(dp.Privacy(0.5))
    assert [identity(each) for each in names] == before
