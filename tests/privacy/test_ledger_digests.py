"""Damage to a budget's file is told, or does not matter: no charge is ever forgotten."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from fractions import Fraction

import pytest

import dpcore as dp
from dpcore.privacy.composition import Sums, total
from dpcore.privacy.ledgers import Charge
from dpcore.records.sources import FileError

TIME = datetime(2026, 1, 1, tzinfo=UTC)
COSTS = [dp.Privacy(1 / 8), dp.Privacy(0.1, 1e-9), dp.Privacy(1 / 3, simulated=True)] * 4


def charged(path, costs=COSTS):
    """Return a new budget with these charges, which are written at once."""
    budget = dp.Budget.open(path, epsilon=10.0, delta=1e-6)
    with budget._ledger.held() as page:
        for number, cost in enumerate(costs):
            page.add(Charge(TIME, f"release {number} of \N{GREEK SMALL LETTER EPSILON}", cost))
    return dp.Budget.open(path)


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


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.sqlite"


def test_a_bit_that_is_another_is_told_or_does_not_matter(path):
    charged(path)
    before, content = state(path), path.read_bytes()
    chosen, told = random.Random(1), 0
    for _ in range(400):
        damaged = bytearray(content)
        at = chosen.randrange(len(content))
        if not any(content[at : at + 8]) and chosen.random() < 0.8:
            continue  # most of the file is empty
        damaged[at] ^= 1 << chosen.randrange(8)
        told += told_or_harmless(path, damaged, before)
    assert told > 30


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
    with dp.Budget.open(path)._ledger.held() as page:
        for cost in COSTS:
            page.add(Charge(TIME, "x" * 500, cost))
    before, content = state(path), path.read_bytes()
    size = 4096
    pages = [content[at : at + size] for at in range(0, len(content), size)]
    assert len(pages) >= 5
    for at in range(len(pages)):
        for other in [bytes(size), older[at * size : (at + 1) * size], *pages]:
            if len(other) == size and other != pages[at]:
                told = told_or_harmless(
                    path, b"".join([*pages[:at], other, *pages[at + 1 :]]), before
                )
                assert told or at == 0  # the first page of the older file differs in its counters


DAMAGES = [
    "DELETE FROM charges",
    "DELETE FROM charges WHERE id = 12",
    "DELETE FROM charges WHERE id = 1",
    "DELETE FROM charges WHERE id = 5",
    "DELETE FROM charges WHERE id > 6",
    "DELETE FROM charges WHERE id = 12; UPDATE spent SET releases = 11",
    "INSERT INTO charges SELECT 13, time, what, epsilon, delta, rho, simulated, digest "
    "FROM charges WHERE id = 12",
    "UPDATE charges SET id = 99 WHERE id = 12",
    "UPDATE charges SET id = -id",
    "UPDATE charges SET id = 99 WHERE id = 4; UPDATE charges SET id = 4 WHERE id = 5; "
    "UPDATE charges SET id = 5 WHERE id = 99",
    "UPDATE charges SET epsilon = 0.125 WHERE id = 3",
    "UPDATE charges SET epsilon = 0 WHERE id = 12",
    "UPDATE charges SET epsilon = NULL, rho = 0.0 WHERE id = 3",
    "UPDATE charges SET delta = 0 WHERE id = 2",
    "UPDATE charges SET simulated = 1 WHERE id = 1",
    "UPDATE charges SET simulated = 'x'",
    "UPDATE charges SET time = '2020-01-01T00:00:00+00:00' WHERE id = 7",
    "UPDATE charges SET what = 'cdf' WHERE id = 7",
    "UPDATE charges SET what = CAST(x'ff' AS TEXT) WHERE id = 7",
    "UPDATE charges SET time = CAST(x'ff' AS TEXT)",
    "UPDATE charges SET digest = x'00' WHERE id = 7",
    "UPDATE charges SET digest = zeroblob(32)",
    "DELETE FROM spent",
    "INSERT INTO spent SELECT * FROM spent",
    "UPDATE spent SET epsilon = '0'",
    "UPDATE spent SET epsilon = '1/0'",
    "UPDATE spent SET epsilon = CAST(x'ff' AS TEXT)",
    "UPDATE spent SET concentrated = '0'",
    "UPDATE spent SET delta = '0'",
    "UPDATE spent SET simulated = 0",
    "UPDATE spent SET unlimited = 1",
    "UPDATE spent SET releases = 0",
    "UPDATE spent SET releases = 0; DELETE FROM charges",
    "UPDATE spent SET identity = zeroblob(16)",
    "UPDATE spent SET identity = x''",
    "UPDATE spent SET identity = 'x'",
    "ALTER TABLE spent DROP COLUMN identity",
    "ALTER TABLE spent DROP COLUMN identity; PRAGMA user_version = 2",
    "UPDATE cap SET epsilon = 99",
    "UPDATE cap SET delta = 0.5",
    "UPDATE cap SET epsilon = NULL, rho = 9",
    "UPDATE cap SET neighbours = 'add-or-remove-one'",
    "UPDATE cap SET neighbours = CAST(x'ff' AS TEXT)",
    "INSERT INTO cap SELECT * FROM cap",
    "DELETE FROM cap",
    "DROP TABLE cap",
    "DROP TABLE spent",
    "DROP TABLE charges",
    "ALTER TABLE charges ADD COLUMN x",
    "ALTER TABLE charges RENAME COLUMN rho TO r",
    "CREATE TABLE other (x)",
    "CREATE VIEW v AS SELECT 1",
    "PRAGMA user_version = 1",
    "PRAGMA user_version = 2",
    "PRAGMA user_version = 0",
    "PRAGMA application_id = 0",
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_was_edited_is_told(path, damage):
    budget = charged(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(damage)
    connection.close()
    for caps in ({}, {"epsilon": 10.0, "delta": 1e-6}):
        with pytest.raises(dp.FormatError) as raised:
            dp.Budget.open(path, **caps)
        assert str(path) in str(raised.value)
    spent = sum(COSTS[1:], COSTS[0])
    try:  # a budget that was opened before: it may not see it yet, and charges what is right
        budget.charge(dp.Privacy(0.125))
    except dp.FormatError:
        return
    assert budget.spent.epsilon >= (spent + dp.Privacy(0.125)).epsilon * (1 - 1e-12)


def test_a_file_that_was_tidied_up_is_the_same(path):
    charged(path)
    before = state(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript("VACUUM; ANALYZE; REINDEX")
    connection.close()
    assert state(path) == before


def test_an_older_copy_is_told_while_the_budget_is_open(path):
    """Later it cannot be told: it is what the file was."""
    budget = charged(path)
    older = path.read_bytes()
    budget.charge(dp.Privacy(0.5))
    assert budget.spent.epsilon > 0.5
    path.write_bytes(older)
    for ask in (lambda: budget.spent, lambda: budget.log, lambda: budget.charge(dp.Privacy(0.5))):
        with pytest.raises(dp.FormatError, match="an older copy of it"):
            ask()
    assert len(dp.Budget.open(path).log) == len(COSTS)


@pytest.mark.parametrize("costs", [[], COSTS[:1], COSTS])
def test_a_copy_without_its_own_last_charge_is_told(path, costs):
    budget = charged(path, costs)
    older = path.read_bytes()
    budget.charge(dp.Privacy(0.5))
    path.write_bytes(older)
    for ask in (lambda: budget.spent, lambda: budget.log, lambda: budget.charge(dp.Privacy(0.5))):
        with pytest.raises(dp.FormatError, match="another budget, or an older copy of it"):
            ask()


def test_an_equal_cap_does_not_make_it_the_same_budget(path, tmp_path):
    budget = charged(path)
    charged(tmp_path / "other", [*COSTS[::-1], *COSTS])
    (tmp_path / "other").replace(path)
    with pytest.raises(dp.FormatError, match="another budget"):
        budget.charge(dp.Privacy(0.5))


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
        if ask == "charge":
            budget.charge(dp.Privacy(1e-3))
        elif ask == "spent":
            assert budget.spent.epsilon > 0.0
        else:
            with pytest.raises(dp.BudgetError):
                budget.charge(dp.Privacy(11.0))
        return len(steps)

    def fill(first, last):
        with budget._ledger.held() as page:
            for number in range(first, last):
                charge = Charge(TIME, "cdf", dp.Privacy(1e-3 + number * 1e-9))
                page.add(charge)

    fill(0, 20)
    monkeypatch.setattr(sqlite3, "connect", counting)
    few = work()
    monkeypatch.setattr(sqlite3, "connect", connect)
    fill(20, 2000)
    monkeypatch.setattr(sqlite3, "connect", counting)
    assert 0 < work() <= few + 20


def test_the_running_sums_are_the_sums():
    """Doubles of all sizes, with the exactness of fractions."""
    chosen = random.Random(2)
    costs, sums = [], Sums()
    for _ in range(300):
        number = chosen.random() * 2.0 ** chosen.randrange(-1100, 1000)
        rho = chosen.random() < 0.3
        delta = chosen.choice([0.0, 5e-324, chosen.random()])
        cost = dp.Privacy(**{"rho" if rho else "epsilon": number}, delta=delta)
        costs.append(cost)
        sums = sums.plus(cost)
    rows = [(each.epsilon, each.delta, each.rho, each.simulated) for each in costs]
    assert total(rows) == sums
    assert total([]) == Sums()
    assert sums.epsilon == sum(Fraction(each.epsilon) for each in costs if each.epsilon is not None)


# What dpcore wrote before charges had digests.
OLD = """
CREATE TABLE cap (epsilon REAL, delta REAL NOT NULL, rho REAL, neighbours TEXT NOT NULL);
INSERT INTO "cap" VALUES(10.0,1.0e-06,NULL,'replace-one');
CREATE TABLE charges (id INTEGER PRIMARY KEY, time TEXT NOT NULL, what TEXT NOT NULL, epsilon REAL, delta REAL NOT NULL, rho REAL, simulated INTEGER NOT NULL);
INSERT INTO "charges" VALUES(1,'2026-11-23T20:40:41.074347+00:00','one',0.25,0.0,NULL,0);
INSERT INTO "charges" VALUES(2,'2026-11-23T20:40:41.093815+00:00','two',0.1,1.0e-09,NULL,0);
INSERT INTO "charges" VALUES(3,'2026-11-23T20:40:41.113866+00:00','one',0.25,0.0,NULL,1);
PRAGMA application_id = 1685087087;
PRAGMA user_version = 1;
"""  # noqa: E501


# What it wrote before files had identities.
WITHOUT_IDENTITY = """
CREATE TABLE cap (epsilon REAL, delta REAL NOT NULL, rho REAL, neighbours TEXT NOT NULL);
INSERT INTO "cap" VALUES(10.0,1.0e-06,NULL,'replace-one');
CREATE TABLE charges (id INTEGER PRIMARY KEY, time TEXT NOT NULL, what TEXT NOT NULL, epsilon REAL, delta REAL NOT NULL, rho REAL, simulated INTEGER NOT NULL, digest BLOB NOT NULL);
INSERT INTO "charges" VALUES(1,'2026-11-24T00:10:57.815232+00:00','one',0.25,0.0,NULL,0,X'40FF4488937F597D04E25DCD4B52B0EE8D96A767E0E2CAA2BB446A99D6765CD8');
INSERT INTO "charges" VALUES(2,'2026-11-24T00:10:57.819720+00:00','two',0.1,1.0e-09,NULL,0,X'595E1D290A844BACD0656628C841B5B7F0F077805AE66458335A3FA7A802890A');
INSERT INTO "charges" VALUES(3,'2026-11-24T00:10:57.823924+00:00','one',0.25,0.0,NULL,1,X'C7DAF6063168DD0D052873E41E51A1D4109D548AB8A6D524EE7C8208B1E77D6B');
CREATE TABLE spent (releases INTEGER NOT NULL, epsilon TEXT NOT NULL, concentrated TEXT NOT NULL, delta TEXT NOT NULL, unlimited INTEGER NOT NULL, simulated INTEGER NOT NULL, last BLOB NOT NULL, digest BLOB NOT NULL);
INSERT INTO "spent" VALUES(3,'21617278211378381/36028797018963968','175240018975550433904056131869737/2596148429267413814265248164610048','4835703278458517/4835703278458516698824704',0,1,X'C7DAF6063168DD0D052873E41E51A1D4109D548AB8A6D524EE7C8208B1E77D6B',X'C21EDD0177DBCE7FB3BE9ACBA87E8BA150384AF30C4489D454335DA919023C35');
PRAGMA application_id = 1685087087;
PRAGMA user_version = 2;
"""  # noqa: E501


def scripted(path, script):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(script)
    connection.close()
    return path


@pytest.fixture(params=[OLD, WITHOUT_IDENTITY], ids=["without digests", "without identity"])
def older(path, request):
    return scripted(path, request.param)


@pytest.fixture
def old(path):
    return scripted(path, OLD)


def test_a_file_of_an_older_format_is_read_as_it_is_and_gets_the_new_one_with_the_next_charge(
    older,
):
    old, content = older, older.read_bytes()
    budget = dp.Budget.open(old)
    log = budget.log
    costs = [dp.Privacy(0.25), dp.Privacy(0.1, 1e-9), dp.Privacy(0.25, simulated=True)]
    assert [each.privacy for each in log] == costs
    assert [each.what for each in log] == ["one", "two", "one"]
    assert budget.spent == sum(costs[1:], costs[0])
    with pytest.raises(dp.BudgetError):
        budget.charge(dp.Privacy(9.5))
    assert old.read_bytes() == content
    other = dp.Budget.open(old)
    budget.charge(dp.Privacy(0.5), "three")
    for each in (budget, other, dp.Budget.open(old)):
        assert each.log[:3] == log
        assert each.log[3].privacy == dp.Privacy(0.5)
        assert each.spent == sum([*costs[1:], dp.Privacy(0.5)], costs[0])
    connection = sqlite3.connect(old, isolation_level=None)
    connection.execute("DELETE FROM charges WHERE id = 2")
    connection.close()
    with pytest.raises(dp.FormatError, match="charge 2 does not match its digest"):
        dp.Budget.open(old)


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
    with budget, pytest.raises(dp.FormatError, match="another budget, or an older copy of it"):
        dp.cdf([0.5], dp.Grid([0.5]), epsilon=0.5)
    with dp.Budget.open(older) as again:
        made.add(5)
        made.add(5)
    assert len(again.log) == 4


def test_two_budgets_of_one_file_are_one_while_its_format_changes(older):
    """Whichever of them has seen the new format."""
    first, second, third = (dp.Budget.open(older) for _ in range(3))
    with first, second:
        dp.cdf([0.5], dp.Grid([0.5]), epsilon=0.5)
        with third:
            dp.cdf([0.5], dp.Grid([0.5]), epsilon=0.5)
    third.charge(dp.Privacy(0.5))
    assert first._key == second._key == third._key
    assert len(first.log) == len(second.log) == len(third.log) == 6


def test_copies_of_a_file_of_an_older_format_are_other_budgets(older, tmp_path):
    (tmp_path / "copy").write_bytes(older.read_bytes())
    with dp.Budget.open(older) as budget, dp.Budget.open(tmp_path / "copy") as other:
        made = dp.streams.RunningCount(10, epsilon=1.0)
        made.add(5)
    assert len(budget.log) == len(other.log) == 4
    identities = [read_identity(older), read_identity(tmp_path / "copy")]
    assert len(identities[0]) == 16
    assert identities[0] != identities[1]


def read_identity(path):
    connection = sqlite3.connect(path)
    ((identity,),) = connection.execute("SELECT identity FROM spent").fetchall()
    connection.close()
    return identity


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE spent SET epsilon = '0'",
        "UPDATE charges SET epsilon = 0.125 WHERE id = 1",
        "DELETE FROM charges WHERE id = 3",
        "UPDATE cap SET epsilon = 99",
        "ALTER TABLE spent ADD COLUMN identity",
        "PRAGMA user_version = 1",
        "PRAGMA user_version = 3",
    ],
)
def test_a_file_without_an_identity_that_was_edited_is_told(path, damage):
    dp.Budget.open(scripted(path, WITHOUT_IDENTITY))
    scripted(path, damage)
    with pytest.raises(dp.FormatError, match="is damaged"):
        dp.Budget.open(path)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE charges SET time = CAST(x'ff' AS TEXT)",
        "UPDATE charges SET epsilon = 'x'",
        "UPDATE charges SET epsilon = -1",
        "UPDATE cap SET neighbours = CAST(x'ff' AS TEXT)",
        "CREATE TRIGGER t BEFORE INSERT ON charges BEGIN SELECT RAISE(IGNORE); END",
    ],
)
def test_what_no_budget_wrote_is_told_in_a_file_without_digests(old, damage):
    connection = sqlite3.connect(old, isolation_level=None)
    connection.executescript(damage)
    connection.close()
    with pytest.raises(dp.FormatError, match="is damaged"):
        dp.Budget.open(old).charge(dp.Privacy(0.5))


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


def test_the_journal_of_a_crash_may_be_damaged_too(path):
    """SQLite takes the crashed charges back with it. If it cannot, no charge is lost silently."""
    charged(path, COSTS * 20)
    before, journal = state(path), path.with_name(path.name + "-journal")
    subprocess.run([sys.executable, "-c", CRASH, str(path)], check=True)
    content, old = path.read_bytes(), journal.read_bytes()
    assert len(old) > 512
    chosen, told = random.Random(3), 0
    for number in range(40):
        damaged = bytearray(old)
        if number % 4 == 0:
            damaged = damaged[: chosen.randrange(len(old))]
        else:
            damaged[chosen.randrange(512 if number % 2 else len(old))] ^= 1 << chosen.randrange(8)
        journal.write_bytes(damaged)
        told += told_or_harmless(path, content, before)
        journal.unlink(missing_ok=True)
    assert 0 < told < 40
    journal.write_bytes(old)
    assert not told_or_harmless(path, content, before)
