"""Damage to a budget's file is told, or does not matter: no charge is ever forgotten."""

from __future__ import annotations

import random
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

import dpcore as dp
from dpcore.privacy.composition import Sums, total
from dpcore.records.sources import FileError
from tests.privacy.budget_files import (
    ASKED,
    COSTS,
    GRID,
    add_at_once,
    charged,
    execute,
    identity,
    run,
)


def state(path):
    budget = dp.Budget.open(path)
    return budget.cap, budget.log, budget.spent, budget.remaining


def told_or_harmless(path, content, before):
    """Return whether damage was told."""
    path.write_bytes(content)
    try:
        after = state(path)
    except (dp.FormatError, FileError) as error:
        assert str(path) in str(error)  # noqa: PT017  # it need not be raised
        return True
    assert after == before
    return False


# --- bits, pages and ends


def test_a_bit_that_is_another_is_told_or_does_not_matter(path):
    charged(path)
    before, content = state(path), path.read_bytes()
    chosen, told = random.Random(1), 0
    for _ in range(250):
        damaged = bytearray(content)
        at = chosen.randrange(len(content))
        if not any(content[at : at + 8]) and chosen.random() < 0.8:
            continue  # most of the file is empty
        damaged[at] ^= 1 << chosen.randrange(8)
        told += told_or_harmless(path, damaged, before)
    assert told > 20


def test_files_that_were_cut_are_told(path, monkeypatch):
    monkeypatch.setattr("dpcore.privacy.file_ledgers._STEPS", 1)
    charged(path)
    before, content = state(path), path.read_bytes()
    for length in (0, 1, 99, 100, *range(512, len(content), 512), len(content) - 1):
        assert told_or_harmless(path, content[:length], before), length


def test_pages_that_are_others_are_told(path):
    """Zeros, a page of another place, and a page of an older state of the file."""
    charged(path, COSTS[:6])
    older = path.read_bytes()
    add_at_once(dp.Budget.open(path), COSTS, "x" * 500)
    before, content = state(path), path.read_bytes()
    size = 4096
    pages = [content[at : at + size] for at in range(0, len(content), size)]
    assert len(pages) >= 5
    for at in range(len(pages)):
        for other in [bytes(size), older[at * size : (at + 1) * size], *pages]:
            if len(other) == size and other != pages[at]:
                changed = b"".join([*pages[:at], other, *pages[at + 1 :]])
                told = told_or_harmless(path, changed, before)
                assert told or at == 0  # the first page of the older file differs in its counters


CRASH = """
import os, sys
from datetime import UTC, datetime
import dpcore as dp
from dpcore.privacy.ledgers import Charge
with dp.Budget.open(sys.argv[1])._ledger.held() as page:
    page.connection.execute("PRAGMA cache_size = 1")
    for _ in range(200):
        page.add(Charge(datetime.now(UTC), "y" * 300, dp.Privacy(1e-3)))
    os._exit(0)
"""


def test_the_journal_of_a_crash_is_taken_back_and_may_be_damaged_too(path):
    """What was not committed was never released. If it stays, no charge is lost silently."""
    charged(path, COSTS * 20)
    before, journal = state(path), path.with_name(path.name + "-journal")
    run(CRASH, path)
    content, old = path.read_bytes(), journal.read_bytes()
    assert len(old) > 512
    chosen, told = random.Random(3), 0
    for number in range(24):
        damaged = bytearray(old)
        if number % 4 == 0:
            damaged = damaged[: chosen.randrange(len(old))]
        else:
            damaged[chosen.randrange(512 if number % 2 else len(old))] ^= 1 << chosen.randrange(8)
        journal.write_bytes(damaged)
        told += told_or_harmless(path, content, before)
        journal.unlink(missing_ok=True)
    assert 0 < told < 24
    journal.write_bytes(old)
    assert not told_or_harmless(path, content, before)
    again = dp.Budget.open(path)
    add_at_once(again, COSTS[:1])
    assert len(again.log) == len(before[1]) + 1


# --- edited by hand


DAMAGES = [
    "DELETE FROM charges",
    "DELETE FROM charges WHERE id = 12",
    "DELETE FROM charges WHERE id > 6",
    "DELETE FROM charges WHERE id = 12; UPDATE spent SET releases = 11",
    "INSERT INTO charges SELECT 13, time, what, epsilon, delta, rho, simulated, digest, label "
    "FROM charges WHERE id = 12",
    "UPDATE charges SET id = 99 WHERE id = 12",
    "UPDATE charges SET id = 99 WHERE id = 4; UPDATE charges SET id = 4 WHERE id = 5; "
    "UPDATE charges SET id = 5 WHERE id = 99",
    "UPDATE charges SET epsilon = 0.125 WHERE id = 3",
    "UPDATE charges SET epsilon = 0 WHERE id = 12",
    "UPDATE charges SET epsilon = NULL, rho = 0.0 WHERE id = 3",
    "UPDATE charges SET delta = 0 WHERE id = 2",
    "UPDATE charges SET simulated = 1 WHERE id = 1",
    "UPDATE charges SET time = '2020-01-01T00:00:00+00:00' WHERE id = 7",
    "UPDATE charges SET what = 'cdf' WHERE id = 7",
    "UPDATE charges SET digest = x'00' WHERE id = 7",
    "DELETE FROM spent",
    "INSERT INTO spent SELECT * FROM spent",
    "UPDATE spent SET epsilon = '0'",
    "UPDATE spent SET concentrated = '0'",
    "UPDATE spent SET delta = '0'",
    "UPDATE spent SET simulated = 0",
    "UPDATE spent SET unlimited = 1",
    "UPDATE spent SET releases = 0",
    "UPDATE spent SET releases = 0; DELETE FROM charges",
    "UPDATE spent SET identity = zeroblob(16)",
    "ALTER TABLE spent DROP COLUMN identity",
    "ALTER TABLE spent DROP COLUMN identity; PRAGMA user_version = 2",
    "UPDATE cap SET epsilon = 99",
    "UPDATE cap SET epsilon = 'x'",
    "UPDATE cap SET delta = 0.5",
    "UPDATE cap SET epsilon = NULL, rho = 9",
    "UPDATE cap SET neighbours = 'add-or-remove-one'",
    "UPDATE cap SET neighbours = 'x'",
    "UPDATE cap SET neighbours = CAST(x'ff' AS TEXT)",
    "INSERT INTO cap SELECT * FROM cap",
    "DELETE FROM cap",
    "DROP TABLE cap",
    "DROP TABLE spent",
    "DROP TABLE charges",
    "ALTER TABLE charges RENAME COLUMN rho TO r",
    "CREATE TABLE other (x)",
    "CREATE TRIGGER t BEFORE INSERT ON charges BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER t BEFORE UPDATE ON spent BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER sqlitex AFTER INSERT ON charges BEGIN DELETE FROM cap; END",
    "CREATE TABLE SQLite2 (x)",
    "PRAGMA user_version = 1",
    "PRAGMA user_version = 2",
    "PRAGMA user_version = 0",
    "PRAGMA application_id = 0",
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_was_edited_is_told(path, damage):
    budget = charged(path)
    execute(path, damage)
    for caps in ({}, {"epsilon": 10.0, "delta": 1e-6}):
        with pytest.raises(dp.FormatError, match=path.name):
            dp.Budget.open(path, **caps)
    with pytest.raises(dp.FormatError, match=path.name):
        _ = budget.log
    spent = sum(COSTS[1:], COSTS[0])
    try:  # a budget that was opened before: it may not see it yet, and charges what is right
        budget.charge(dp.Privacy(0.125))
    except dp.FormatError:
        return
    assert budget.spent.epsilon >= (spent + dp.Privacy(0.125)).epsilon * (1 - 1e-12)


def test_a_file_that_was_tidied_up_is_the_same(path):
    charged(path)
    before = state(path)
    execute(path, "VACUUM; ANALYZE; REINDEX")
    assert state(path) == before


# --- sums


@pytest.mark.parametrize("ask", ["charge", "spent", "refusal"])
def test_the_work_of_a_charge_does_not_grow_with_the_charges(path, monkeypatch, ask):
    steps = []
    connect = sqlite3.connect

    def counting(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.set_progress_handler(lambda: steps.append(1) and None, 1)
        return connection

    budget = dp.Budget.open(path, epsilon=10.0, delta=1e-6)

    def work():
        steps.clear()
        monkeypatch.setattr(sqlite3, "connect", counting)
        if ask == "refusal":
            with pytest.raises(dp.BudgetError):
                budget.charge(dp.Privacy(11.0))
        else:
            ASKED[ask](budget)
        monkeypatch.setattr(sqlite3, "connect", connect)
        return len(steps)

    add_at_once(budget, [dp.Privacy(1e-3 + number * 1e-9) for number in range(20)])
    few = work()
    add_at_once(budget, [dp.Privacy(1e-3 + number * 1e-9) for number in range(20, 1000)])
    assert 0 < work() <= few + 20


def test_the_running_sums_are_the_sums():
    """Doubles of all sizes, with the exactness of fractions."""
    chosen = random.Random(2)
    costs, sums = [], Sums()
    for _ in range(300):
        number = chosen.random() * 2.0 ** chosen.randrange(-1100, 1000)
        kinds = chosen.choice([["rho"], ["epsilon"], ["epsilon"], ["epsilon", "rho"]])
        delta = chosen.choice([0.0, 5e-324, chosen.random()])
        cost = dp.Privacy(**dict.fromkeys(kinds, number), delta=delta)
        costs.append(cost)
        sums = sums.plus(cost)
    rows = [(cost.epsilon, cost.delta, cost.rho, cost.simulated) for cost in costs]
    assert total(rows) == sums
    assert total([]) == Sums()
    assert sums.epsilon == sum(Fraction(cost.epsilon or 0) for cost in costs)
    assert {cost.epsilon is not None and cost.rho is not None for cost in costs} == {True, False}


# --- files of older formats: without digests, without identities, and without a composition


FORMATS = Path(__file__).parent / "formats"


@pytest.fixture(params=["without_digests", "without_identity"])
def older(path, request):
    return execute(path, (FORMATS / f"{request.param}.sql").read_text())


@pytest.mark.parametrize(
    "older",
    ["without_digests", "without_identity", "without_composition", "without_labels"],
    indirect=True,
)
def test_a_file_of_an_older_format_is_read_as_it_is_and_gets_the_new_one_with_the_next_charge(
    older,
):
    content, budget = older.read_bytes(), dp.Budget.open(older)
    log = budget.log
    costs = [dp.Privacy(0.25), dp.Privacy(0.1, 1e-9), dp.Privacy(0.25, simulated=True)]
    assert [charge.privacy for charge in log] == costs
    assert [charge.what for charge in log] == ["one", "two", "one"]
    assert budget.spent == sum(costs[1:], costs[0])
    with pytest.raises(dp.BudgetError):
        budget.charge(dp.Privacy(9.5))
    assert older.read_bytes() == content
    other = dp.Budget.open(older)
    budget.charge(dp.Privacy(0.5), "three")
    for opened in (budget, other, dp.Budget.open(older)):
        assert opened.log[:3] == log
        assert opened.log[3].privacy == dp.Privacy(0.5)
        assert opened.spent == sum([*costs[1:], dp.Privacy(0.5)], costs[0])
        assert opened.composition == "basic"
    execute(older, "DELETE FROM charges WHERE id = 2")
    with pytest.raises(dp.FormatError, match="charge 2"):
        dp.Budget.open(older)


def test_what_a_file_of_an_older_format_has_paid_for_is_paid(older):
    """The charge gives the file its identity."""
    budgets = [dp.Budget.open(older) for _ in range(3)]
    with budgets[0]:
        made = dp.streams.RunningCount(10, epsilon=1.0)
    for budget in [*budgets, dp.Budget.open(older)]:
        with budget:
            made.add(5)
    assert len(budgets[0].log) == 4


def test_a_restored_file_of_an_older_format_has_not_paid(older):
    content = older.read_bytes()
    with dp.Budget.open(older) as budget:
        made = dp.streams.RunningCount(10, epsilon=1.0)
    older.write_bytes(content)
    with budget, pytest.raises(dp.FormatError, match="older copy"):
        dp.cdf([0.5], GRID, epsilon=0.5)
    with dp.Budget.open(older) as again:
        made.add(5)
        made.add(5)
    assert len(again.log) == 4


def test_two_budgets_of_one_file_are_one_while_its_format_changes(older):
    """Whichever of them has seen the new format."""
    first, second, third = (dp.Budget.open(older) for _ in range(3))
    with first, second:
        dp.cdf([0.5], GRID, epsilon=0.5)
        with third:
            dp.cdf([0.5], GRID, epsilon=0.5)
    third.charge(dp.Privacy(0.5))
    assert first._key == second._key == third._key
    assert len(first.log) == len(second.log) == len(third.log) == 6


def test_copies_of_a_file_of_an_older_format_are_other_budgets(older, tmp_path):
    (tmp_path / "copy").write_bytes(older.read_bytes())
    with dp.Budget.open(older) as budget, dp.Budget.open(tmp_path / "copy") as other:
        made = dp.streams.RunningCount(10, epsilon=1.0)
        made.add(5)
    assert len(budget.log) == len(other.log) == 4
    identities = [identity(older), identity(tmp_path / "copy")]
    assert len(identities[0]) == 16
    assert identities[0] != identities[1]


@pytest.mark.parametrize(
    ("older", "damage"),
    [
        ("without_identity", "UPDATE spent SET epsilon = '0'"),
        ("without_identity", "UPDATE charges SET epsilon = 0.125 WHERE id = 1"),
        ("without_identity", "DELETE FROM charges WHERE id = 3"),
        ("without_identity", "UPDATE cap SET epsilon = 99"),
        ("without_identity", "ALTER TABLE spent ADD COLUMN identity"),
        ("without_identity", "PRAGMA user_version = 1"),
        ("without_identity", "PRAGMA user_version = 3"),
        ("without_composition", "UPDATE spent SET delta = '0'"),
        ("without_composition", "UPDATE cap SET epsilon = 99"),
        ("without_composition", "ALTER TABLE cap ADD COLUMN composition"),
        ("without_composition", "PRAGMA user_version = 4"),
        ("without_labels", "UPDATE charges SET what = 'three' WHERE id = 1"),
        ("without_labels", "ALTER TABLE charges ADD COLUMN label TEXT NOT NULL DEFAULT ''"),
        ("without_labels", "PRAGMA user_version = 5"),
        ("without_digests", "UPDATE charges SET time = CAST(x'ff' AS TEXT)"),
        ("without_digests", "UPDATE charges SET epsilon = 'x'"),
        ("without_digests", "UPDATE charges SET epsilon = -1"),
        ("without_digests", "UPDATE cap SET neighbours = CAST(x'ff' AS TEXT)"),
        (
            "without_digests",
            "CREATE TRIGGER t BEFORE INSERT ON charges BEGIN SELECT RAISE(IGNORE); END",
        ),
    ],
    indirect=["older"],
)
def test_what_no_budget_wrote_is_told_in_files_of_older_formats(older, damage):
    dp.Budget.open(older)
    execute(older, damage)
    with pytest.raises(dp.FormatError, match="is damaged"):
        dp.Budget.open(older).charge(dp.Privacy(0.5))
