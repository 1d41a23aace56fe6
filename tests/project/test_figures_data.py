"""Figures of the papers: which data they read, and where they go with and without these."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUICKEST = "federated_figure_01"  # no replicates, no data
TEXT = b"a,TenYearCHD\n1,0\n2,1\n"


@pytest.fixture
def clone(paper, monkeypatch, tmp_path):
    """A clone with a committed page, in which figures are made."""
    root, every = tmp_path / "clone", paper("_all")
    (root / "docs" / "measured" / "figures").mkdir(parents=True)
    (root / "docs" / "measured" / "figures.md").write_text("committed", "utf-8")
    (root / "docs" / "measured" / "figures" / "outcomes.json").write_text("{}", "utf-8")
    (root / "docs" / "measured" / "figures" / f"{QUICKEST}.png").write_bytes(b"committed")
    monkeypatch.setattr(every, "ROOT", root)
    monkeypatch.setattr(every, "KEPT", root / ".figures")
    return root


@pytest.fixture
def given(paper, monkeypatch, tmp_path):
    """A folder of data with one file, which is the only one that figures want."""
    files, folder = paper("_files"), tmp_path / "data"
    folder.mkdir()
    digest = hashlib.sha256(TEXT).hexdigest()
    one = files.DataFile("framingham.csv", "Framingham", len(TEXT), digest)
    monkeypatch.setattr(files, "FILES", {one.name: one})
    monkeypatch.setenv("DPCORE_DATA", str(folder))
    (folder / one.name).write_bytes(TEXT)
    return folder / one.name


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def make(paper, **how: bool) -> None:
    paper("_all").make([QUICKEST], quick=how.get("quick", False), workers=1)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize(
    ("quick", "folder"),
    [(False, "figures-without-data"), (True, "figures-quick-without-data")],
)
def test_without_data_nothing_that_is_committed_is_touched(paper, clone, capsys, quick, folder):
    committed = contents(clone / "docs")
    make(paper, quick=quick)
    assert contents(clone / "docs") == committed
    page = (clone / folder / "figures.md").read_text("utf-8")
    assert "**Made without the papers' data.**" in page
    assert (clone / folder / "figures" / f"{QUICKEST}.png").exists()
    assert folder in capsys.readouterr().out


@pytest.mark.needs_jit
def test_with_the_right_data_the_page_of_docs_is_written(paper, clone, given):
    make(paper)
    page = (clone / "docs" / "measured" / "figures.md").read_text("utf-8")
    assert "without the papers" not in page
    assert hashlib.sha256(TEXT).hexdigest() in page
    assert [path.name for path in clone.iterdir()] == ["docs"]


@pytest.mark.needs_jit
def test_a_quick_run_with_data_goes_elsewhere(paper, clone, given):
    committed = contents(clone / "docs")
    make(paper, quick=True)
    assert contents(clone / "docs") == committed
    assert (clone / "figures-quick" / "figures.md").exists()


@pytest.mark.parametrize("how", ["missing", "other bytes", "a folder"])
def test_missing_and_other_files_are_refused_before_anything_is_written(paper, clone, given, how):
    committed = contents(clone)
    given.unlink()
    if how == "other bytes":
        given.write_bytes(TEXT.replace(b"1", b"3"))  # as many of them
    elif how == "a folder":
        given.mkdir()
    said = hashlib.sha256(TEXT).hexdigest() if how == "other bytes" else "there is no framingham"
    with pytest.raises(SystemExit, match=r"(?s)framingham\.csv.*Nothing was written") as refused:
        make(paper)
    assert said in str(refused.value)
    assert contents(clone) == committed


def test_digests_are_checked_when_a_file_is_read(paper, given):
    data, files = paper("_data"), paper("_files")
    assert data.features("heart")[1].tolist() == [False, True]
    given.write_bytes(TEXT + b"3,1\n")
    with pytest.raises(files.WrongDataError, match="25 bytes"):
        data.features("heart")
    with pytest.raises(files.WrongDataError, match="SHA-256"):
        data.heart(0.25)


def test_an_empty_name_of_a_folder_is_none(paper, monkeypatch):
    monkeypatch.setenv("DPCORE_DATA", "")
    assert paper("_files").check() is False


def test_only_docs_are_committed(paper):
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    place = paper("_all").place
    for quick, with_data in ((False, False), (True, False), (True, True)):
        name = place(quick=quick, with_data=with_data).name
        assert name.startswith("figures-")
        assert "/figures-*/" in ignored
    assert place(quick=False, with_data=True) == ROOT / "docs" / "measured"


def test_the_committed_page_lists_the_files_and_shows_no_stand_in_for_them(paper):
    page = (ROOT / "docs" / "measured" / "figures.md").read_text("utf-8")
    files = paper("_files").FILES.values()
    assert len(files) == 5
    for each in files:
        assert f"| `{each.name}` | {each.public} | {each.size:,} | `{each.digest}` |" in page
    outcomes = json.loads(
        (ROOT / "docs" / "measured" / "figures" / "outcomes.json").read_text("utf-8")
    )
    shown = {name for outcome in outcomes.values() for name in outcome["data"]}
    assert not shown & {
        f"synthetic, in place of {name}"
        for name in ("Bank", "Diabetes", "Heart disease", "SOCR weights", "SMS")
    }


# --- studies of other pages


@pytest.mark.parametrize("there", [True, False])
def test_studies_without_their_data_write_elsewhere(script, monkeypatch, tmp_path, there, capsys):
    study, pages = script("study"), script("_pages")
    (tmp_path / "dpbench").mkdir()
    written = []
    module = script("studies.tables")
    monkeypatch.setattr(module, "main", lambda: written.append(pages.where))
    monkeypatch.setattr(pages, "where", ROOT / "docs")
    monkeypatch.setattr(study, "ensure", lambda *extras: None)
    folder = tmp_path if there else tmp_path / "dpbench"
    monkeypatch.setattr("sys.argv", ["study.py", "tables", "--data", str(folder)])
    monkeypatch.setenv("DPCORE_DATA", "")
    study.main()
    assert written == [ROOT / "docs" if there else ROOT / ".studies" / "without-data"]
    assert ("dpbench" in capsys.readouterr().out) != there
