"""The studies of trust models and of clients measure what they say, on cases with known answers."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def script(monkeypatch):
    """Import a script by name."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.mark.needs_jit
def test_clients_of_one_record_lose_nothing_to_the_bound(script, rng):
    clients = script("studies.clients")
    found = clients.bounded("one record each", "bound alone", 4000, rng)
    assert found["counting"] == [1.0] * len(clients.BOUNDS)
    assert found["share"] == [0.0] * len(clients.BOUNDS)
    assert max(found["area"]) < 1e-3  # of cells
    noisy = clients.bounded("one record each", "local, epsilon = 5", 4000, rng)
    assert noisy["area"][-1] > max(found["area"])


@pytest.mark.needs_jit
def test_clients_who_differ_are_missed_by_a_small_bound(script, rng):
    clients = script("studies.clients")
    records = clients.drawn("dependent", rng, 4000)
    numbers = np.bincount(records.client_ids)
    expected = [np.minimum(numbers, c).sum() / numbers.sum() for c in clients.BOUNDS]
    assert [records.counting(c) for c in clients.BOUNDS] == pytest.approx(expected)
    found = clients.bounded("dependent", "bound alone", 4000, rng)
    assert found["share"][0] > 2 * found["share"][-1] > 0


@pytest.mark.needs_jit
def test_noise_has_the_errors_that_advice_counts_on(script, rng):
    experiments = script("studies._trust_experiments")
    settings = {"model": "distributed-noise", "epsilon": 1.0, "clients": 10**4, "height": 6}
    found = [experiments.constants(**settings, rng=rng) for _ in range(20)]
    assert set(found[0]) == {"recall", "area", "rate, 4", "rate, 8", "rate, 16"}
    assert 1 < np.mean([each["recall"] for each in found]) < 2  # 1.45 is taken
    errors = experiments.predicted("distributed-noise", 1.0, 10**6, "uniform", rng)
    assert set(errors) == set(experiments.PURPOSES)
    assert errors["auc"] < 0.001 < errors["calibration"] < 0.02


@pytest.mark.needs_jit
def test_areas_of_exact_counts_are_as_far_off_as_buckets_of_equal_depth(script, rng):
    experiments = script("studies._trust_experiments")
    found = experiments.areas("uniform", rng)
    expected = 1 / (3 * np.array(experiments.BUCKETS[:2]) ** 2.0)
    np.testing.assert_allclose(found["exact"][:2], expected, rtol=0.2)
    assert np.all(np.array(found["exact, corrected"]) < found["exact"][0])
    assert all(found["exact, covered, worst-case"])


def test_a_page_may_have_several_places(script, monkeypatch, tmp_path):
    pages = script("_pages")
    (tmp_path / "docs").mkdir()
    place = f"{pages.START}\nold\n{pages.END}"
    (tmp_path / "docs" / "some.md").write_text(f"a\n{place}\nb\n{place}\nc\n", "utf-8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "where", tmp_path / "docs")
    with pytest.raises(SystemExit, match="must have 1 places"):
        pages.fill("some.md", ["new"])
    text = pages.fill("some.md", ["1"], ["2"]).read_text("utf-8").split("\n")
    start, end = pages.START, pages.END
    assert text == ["a", start, "1", end, "b", start, "2", end, "c", ""]


def test_several_scripts_may_fill_a_page(script, monkeypatch, tmp_path):
    pages = script("_pages")
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "some.md"
    kept = f"{pages.START}\nold\n{pages.END}\n"
    other = ("<!-- study of trust: start -->", "<!-- study of trust: end -->")
    page.write_text(f"{other[0]}\nold\n{other[1]}\n{kept}", "utf-8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "where", tmp_path / "docs")
    with pytest.raises(SystemExit, match="must have 1 places"):
        pages.fill("some.md", ["new"], of="clients")
    assert pages.fill("some.md", ["new"], of="trust") == page
    assert page.read_text("utf-8") == f"{other[0]}\nnew\n{other[1]}\n{kept}"
