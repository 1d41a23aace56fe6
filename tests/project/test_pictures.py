"""Pictures of scripts are refused if they do not stand alone; the papers' tests draw them all."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def closed():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture
def lacks(script):
    return lambda picture: list(script("_pictures").lacks(picture))


def test_axes_have_names_of_their_own_or_of_their_row_and_column(lacks):
    picture, axes = plt.subplots(2, 2)
    assert len(lacks(picture)) == 8
    for ax in axes[:, 0]:
        ax.set_ylabel("error")
    assert lacks(picture) == [f"the name of the axis across of axes {at}" for at in range(4)]
    for ax in axes[-1]:
        ax.set_xlabel("epsilon")
    assert lacks(picture) == []
    axes[1, 0].set_ylabel("")
    assert lacks(picture) == [
        "the name of the axis up of axes 2",
        "the name of the axis up of axes 3",
    ]


def test_words_at_ticks_are_names_and_hidden_axes_need_none(lacks):
    picture, (first, second) = plt.subplots(2)
    first.set_xticks([0, 1], ["published", "ours"])
    first.set_ylabel("value")
    second.axis("off")
    assert lacks(picture) == []
    first.set_xticks([0, 1], ["published", "2"])
    assert lacks(picture) == ["the name of the axis across of axes 0"]


@pytest.mark.parametrize("whose", ["axes", "picture"])
def test_no_two_entries_of_a_legend_are_alike(lacks, whose):
    picture, ax = plt.subplots()
    ax.set(xlabel="x", ylabel="y")
    lines = [ax.plot([0, 1], label=label)[0] for label in ("ours", "true", "ours")]
    (ax if whose == "axes" else picture).legend(handles=lines)
    assert lacks(picture) == ["one entry 'ours' of the legend instead of several"]


def test_pages_and_papers_refuse_such_pictures(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script("_pages"), "where", tmp_path)
    made = script("papers._figure").Made({}, tmp_path / "figure.png", quick=True)
    for save in (made.save, lambda picture: script("_pages").save(picture, "page.png")):
        picture, ax = plt.subplots()
        with pytest.raises(ValueError, match="lacks: the name of the axis up"):
            save(picture)
        assert not list(tmp_path.iterdir())
        ax.set(xlabel="epsilon", ylabel="error")
        save(picture)
        assert [path.unlink() for path in tmp_path.iterdir()] == [None]


def test_colours_have_one_home():
    """Scripts and benchmarks take their colours from dpcore.curves.colours."""
    known = {ROOT / "scripts/pictures/rooms.py"}  # two pale floors with names on them
    for folder in ("scripts", "benchmarks", "dpcore"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name != "colours.py" and path not in known:
                text = path.read_text("utf-8")
                assert not re.search(r"""["']#[0-9a-fA-F]{6}["']|["']C\d["']|["']tab:""", text), (
                    path
                )
