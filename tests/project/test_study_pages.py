"""Pages of studies: their tables, where they go, and what results are kept under."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpcore
from dpcore import studies

SCRIPTS = Path(__file__).parents[2] / "scripts"


@studies.study({"data": ["a", "b"], "n": [1000, 2], "epsilon": [0.1, 1.0]}, batch=4)
def known(data, n, epsilon, rng, replicates):
    return {"error": [n * epsilon + (data == "b")] * replicates}


def test_a_pivot_has_a_line_for_each_combination_and_a_column_for_each_of_the_others(script):
    results = studies.run(known, replicates=4, seed=1)
    lines = script("_pages").pivot(
        results,
        {"data": "<{}>", "n": "{:,}"},
        {"epsilon": "epsilon = {:g}"},
        lambda **at: f"{results.array('error', **at).mean():g}",
        n=[2, 1000],
    )
    assert lines == [
        "| data | n | epsilon = 0.1 | epsilon = 1 |",
        "|---|---|---|---|",
        "| <a> | 2 | 0.2 | 2 |",
        "| <a> | 1,000 | 100 | 1000 |",
        "| <b> | 2 | 1.2 | 3 |",
        "| <b> | 1,000 | 101 | 1001 |",
    ]


def test_what_no_parameter_names_may_be_a_row_and_several_parameters_a_column(script):
    results = studies.run(known, replicates=4, seed=1)
    lines = script("_pages").pivot(
        results,
        {"what_is_read": "{}"},
        {"epsilon": "e {:g}", "n": "n {}"},
        lambda what_is_read, **at: what_is_read * len(at),
        what_is_read=["x", "y"],
    )
    assert lines[0] == "| what is read | e 0.1, n 1000 | e 0.1, n 2 | e 1, n 1000 | e 1, n 2 |"
    assert lines[2:] == ["| x | xx | xx | xx | xx |", "| y | yy | yy | yy | yy |"]


def test_parts_are_paragraphs_of_lines_that_fit(script):
    lines = script("_pages").parts("# " + 60 * "ab ", "word " * 30, ["| a |", "|---|"], "x\n y  z")
    assert lines[0] == "# " + 60 * "ab "
    assert [len(line) for line in lines[1:5]] == [0, 99, 49, 0]
    assert lines[5:] == ["| a |", "|---|", "", "x", " y  z"]


def test_a_page_keeps_what_is_around_its_place(script, monkeypatch, tmp_path, capsys):
    pages = script("_pages")
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "some.md"
    page.write_text(f"before\n{pages.START}\nold\n{pages.END}\nafter\n", "utf-8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "where", tmp_path / "quick")
    written = pages.fill("some.md", ["new", "lines"])
    assert written == tmp_path / "quick" / "some.md"
    assert written.read_text("utf-8").split("\n") == [
        "before", pages.START, "new", "lines", pages.END, "after", "",
    ]  # fmt: skip
    assert "old" in page.read_text("utf-8")
    assert "quick" in capsys.readouterr().out


def test_runs_are_kept_continued_and_whole_batches(script, monkeypatch, tmp_path):
    shared = script("_studies")
    monkeypatch.setattr(shared, "KEPT", tmp_path)
    monkeypatch.setattr(shared, "given", shared.Given(workers=1, quick=True))
    assert shared.replicates(shared.run(known, 100, quick=1)) == 4
    monkeypatch.setattr(shared, "given", shared.Given(workers=1, runs=5))
    assert shared.replicates(shared.run(known, 100)) == 8
    monkeypatch.setattr(shared, "given", shared.Given(workers=1))
    assert shared.replicates(shared.run(known, 9)) == 12
    assert [path.name for path in tmp_path.iterdir()] == [shared.label(known)]


def test_other_data_and_another_dpcore_have_other_results(script, monkeypatch, tmp_path):
    shared, home = script("_studies"), tmp_path / "dpcore"
    home.mkdir()
    (home / "__init__.py").write_text("old")
    monkeypatch.setattr(dpcore, "__file__", str(home / "__init__.py"))
    monkeypatch.delenv("DPCORE_DATA", raising=False)
    labels = []
    for data, text in (("", "old"), ("here", "old"), ("", "new")):
        monkeypatch.setenv("DPCORE_DATA", data)
        (home / "__init__.py").write_text(text)
        shared._sources.cache_clear()
        labels.append(shared.label(known))
    shared._sources.cache_clear()
    assert len(set(labels)) == 3
    assert all(label.startswith("known-") for label in labels)


def test_what_is_studied_warns_nobody(script, recwarn):
    import warnings

    with script("_studies").quietly():
        warnings.warn("of much noise", dpcore.DpcoreWarning, stacklevel=1)
    assert not recwarn


def test_each_study_has_a_main_and_no_arguments_of_its_own(script):
    for name in script("_folder").names("studies"):
        text = (SCRIPTS / "studies" / f"{name}.py").read_text("utf-8")
        assert "\ndef main() -> None:" in text, name
        assert "argparse" not in text, name


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
