"""What one budget's file has paid for is not paid by another file, nor by a copy of the file."""

from __future__ import annotations

import os
import shutil

import pytest

import dpcore as dp
from dpcore.records.sources import FileError
from tests.privacy import budget_files
from tests.privacy.budget_files import ASKED, GRID, charged, identity, number_all
from tests.privacy.releases import counter, summed


@pytest.mark.parametrize("number", [0, 7])
@pytest.mark.parametrize("made", [counter, summed])
def test_a_new_file_has_not_paid_whatever_the_disk_says(path, monkeypatch, number, made):
    """Some file systems of networks and of Windows give the number 0 to all files."""
    number_all(monkeypatch, number)
    with dp.Budget.open(path, epsilon=1.0):
        use = made()
        use()
    path.unlink()
    with dp.Budget.open(path, epsilon=1.0) as budget:
        use()
        use()
        with dp.Budget.open(path):  # the same budget
            use()
    assert [charge.privacy.epsilon for charge in budget.log] == [1.0]


@pytest.mark.parametrize(
    "other",
    [{"epsilon": 9.0}, {"epsilon": 1.0, "neighbours": "add-or-remove-one"}, {"epsilon": 1.0}],
)
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_the_file_of_another_budget_in_its_place_is_refused(path, tmp_path, other, ask):
    """Even if nothing had been charged, so that both files may hold the same."""
    budget = dp.Budget.open(path, epsilon=1.0)
    dp.Budget.open(tmp_path / "other", **other)
    (tmp_path / "other").replace(path)
    with pytest.raises(dp.FormatError, match="another budget"):
        ask(budget)
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
    with old, new, pytest.raises(dp.FormatError, match="another budget"):
        dp.cdf([0.5], GRID, epsilon=0.5)
    assert new.log == ()


# --- copies


@pytest.mark.parametrize("made", [counter, summed])
@pytest.mark.parametrize("number", [None, 0])
def test_a_copy_has_not_paid(path, tmp_path, monkeypatch, made, number):
    if number is not None:
        number_all(monkeypatch, number)
    with dp.Budget.open(path, epsilon=3.0) as budget:
        use = made()
    shutil.copy(path, tmp_path / "copy")
    with dp.Budget.open(tmp_path / "copy") as other:
        use()
        use()
    with budget:
        use()
    assert (len(budget.log), len(other.log)) == (1, 2)
    with budget, other:
        dp.cdf([0.5], GRID, epsilon=0.25)
    assert (len(budget.log), len(other.log)) == (2, 3)


@pytest.mark.parametrize("costs", [[], [dp.Privacy(0.25)] * 12])
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_an_older_copy_is_told_while_the_budget_is_open(path, costs, ask):
    """Later it cannot be told: it is what the file was."""
    budget = charged(path, costs)
    older = path.read_bytes()
    budget.charge(dp.Privacy(0.5))
    path.write_bytes(older)
    with pytest.raises(dp.FormatError, match="older copy"):
        ask(budget)
    assert len(dp.Budget.open(path).log) == len(costs)


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_an_older_copy_with_other_charges_since_is_told(path, ask):
    budget = charged(path)
    older = path.read_bytes()
    budget.charge(dp.Privacy(0.5))
    path.write_bytes(older)
    other = dp.Budget.open(path)
    for _ in range(3):
        other.charge(dp.Privacy(0.125))
    with pytest.raises(dp.FormatError, match="older copy"):
        ask(budget)
    assert len(other.log) == len(budget_files.COSTS) + 3


# --- the same file, or none


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


def test_identities_are_random_and_stay(tmp_path):
    paths = [tmp_path / str(number) for number in range(5)]
    budgets = [dp.Budget.open(path, epsilon=1.0) for path in paths]
    before = [identity(path) for path in paths]
    assert {len(stored) for stored in before} == {16}
    assert len(set(before)) == 5
    for budget in budgets:
        budget.charge(dp.Privacy(0.5))
    assert [identity(path) for path in paths] == before
