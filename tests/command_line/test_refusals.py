"""What commands refuse: one-line errors, and nothing left behind after a failure."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpcore.command_line import main as cli
from dpcore.command_line import running, scored
from tests.command_line.tables import EXACT, SECRET, names

SCORED = ["--label", "y", "--score", "s", "--epsilon", "1e6", "--mechanism", "dyadic"]
GIVEN = {
    "cdf": EXACT,
    "roc": [*SCORED, "--lower", "0", "--upper", "1", "--size", "100"],
    "calibration": SCORED,
    "hosmer-lemeshow": SCORED,
    "residuals": ["--predicted", "x", "--residual", "s", "--epsilon", "1"],
}

pytestmark = pytest.mark.usefixtures("tables")


@pytest.fixture
def tables(tables):
    """With columns for all commands in t.csv."""
    rows = "".join(f"{at},{at / 2},{at % 2},{at / 9}\n" for at in range(9))
    Path("t.csv").write_text(f"id,x,y,s\n{rows}")
    return tables


@pytest.fixture
def unread(monkeypatch):
    """Readers that check their arguments, and read nothing."""
    reader = running.record_batches

    def read(*arguments, **options):
        batches = reader(*arguments, **options)  # which checks its arguments at once
        raise KeyboardInterrupt(batches)

    monkeypatch.setattr(running, "record_batches", read)


# What is added to the arguments. The error names the first option.
ARGUMENTS = {
    "cdf": [
        "--lower abc",
        "--lower nan",
        "--lower 2024-02-30",
        "--upper 100 --lower 100",
        "--upper -1e5",
        "--upper 2024-01-01",
        "--size 0",
        "--epsilon 0",
        "--epsilon inf",
        "--epsilon 1e-300",
        "--base 1 --mechanism best",
        "--base 1 --mechanism dyadic",
        "--base 3 --mechanism dyadic-paper",
        "--smooth 1 --mechanism dawa",
        "--raw --smooth 1",
        "--rho 1",
        "--delta 1e-6 --mechanism dyadic-paper",
        "--mechanism x",
        "--col x\ny",
        "--level 1",
        "--groups a",
        "--by y",
        "--groups a,a --by y",
        "--groups a,,b --by y",
        "--delimiter ;;",
        "--json none/o.json",
        "--json t.parquet/o.json",
        "--json .",
        "--json ./t.csv",
        "--plot o.xyz",
        "--plot ./o.png --json o.png",
    ],
    "roc": [
        "--score y",
        "--size 8388609",
        "--size 8388609 --by x --groups 1",
        "--level 0",
        "--raw",
        "--epsilon 1e-300",
        "--smooth 1 --mechanism best",
        "--json t.csv",
        "--json none/o.json",
    ],
    "calibration": [
        "--bins 0",
        "--bins 10 --size 5",
        "--bins 10 --size 5 --by x --groups 1",
        "--level 0",
        "--lower 0",
        "--smooth 2 --mechanism dawa",
        "--json none/o.json",
    ],
    "hosmer-lemeshow": [
        "--groups 2",
        "--smooth 2",
        "--size 8388609",
        "--score y",
        "--json none/o.json",
    ],
    "residuals": [
        "--epsilon 0",
        "--epsilon 1e-300",
        "--epsilon inf",
        "--unit -1e0",
        "--unit 1 --unit inf",
        "--unit 1 --unit 1 --unit 1",
        "--predicted-range 2 1",
        "--residual-range -inf 1",
        "--residual-range 1",
        "--cells 0",
        "--cells 8 --cells -1",
        "--cells 5000 --cells 5000",
        "--cells 1 --cells 1 --cells 1",
        "--mechanism no-noise",
        "--actual y",
        "--residual x",
        "--json none/o.json",
        "--json t.csv",
    ],
}


@pytest.mark.parametrize(
    ("command", "words"),
    [(command, words) for command in ARGUMENTS for words in ARGUMENTS[command]],
)
def test_arguments_are_refused_before_the_data_are_read(refused, unread, command, words):
    argv = words.split(" ")
    error = refused(command, "t.csv", *GIVEN[command], *argv)
    assert argv[0] in error.partition(";")[0]
    assert "has failed" not in error


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("command", GIVEN)
def test_these_arguments_are_right_but_for_what_is_added(command, capsys):
    assert cli.main([command, "t.csv", *GIVEN[command]]) == 130
    capsys.readouterr()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], ["COMMAND"]),
        (["cdf"], ["FILE", "--column"]),
        (["roc"], ["FILE", "--label", "--score"]),
        (["residuals"], ["FILE", "--predicted", "--epsilon"]),
        (["residuals", "t.csv", "--predicted", "p", "--epsilon", "1"], ["--residual", "--actual"]),
        (["cdf", ".", *EXACT], ["FILE", "Parquet"]),
        (["cdf", ".", *EXACT, "--format", "csv"], ["--format", "'csv'"]),
        (["cdf", "-", *EXACT, "--format", "parquet"], ["FILE", "'-'", "--format"]),
    ],
)
def test_what_is_missing_or_no_file_is_named(refused, argv, words):
    error = refused(*argv)
    assert all(word in error for word in words)


def test_other_names_of_the_file_are_not_written_over(refused):
    os.link("t.csv", "same")
    assert "--json 'same' is FILE" in refused("cdf", "t.csv", *EXACT, "--json", "same")
    if os.name != "nt":
        assert "--json '/dev/null'" in refused("cdf", "t.csv", *EXACT, "--json", "/dev/null")


@pytest.mark.parametrize(
    ("command", "file", "content", "words"),
    [
        ("cdf", "none.csv", None, ["FILE 'none.csv'"]),
        ("cdf", "d.txt", b"x\n1\n", ["FILE 'd.txt'", ".csv"]),
        ("cdf", "d.csv", b"", ["FILE 'd.csv'", "empty"]),
        ("cdf", "d.csv", b"x", ["--column 'x'", "no values", "FILE 'd.csv'"]),
        ("cdf", "d.csv", f"x\n{SECRET}?\n".encode(), ["--column 'x'", "text"]),
        ("cdf", "d.csv", f"x,y\n{SECRET}\n".encode(), ["FILE 'd.csv'", "CSV"]),
        ("cdf", "d.csv", f"{SECRET},1\n".encode(), ["--column", "'d.csv'"]),
        ("cdf", "d.parquet", b"PAR1", ["FILE 'd.parquet'", "Parquet"]),
        ("cdf", "d\n.csv", b"", [r"FILE 'd\n.csv'"]),
        ("roc", "d.csv", f"y,s\n1,{SECRET}?\n".encode(), ["--score 's'", "text"]),
        ("roc", "d.csv", b"a,s\n1,2\n", ["--label", "'d.csv'"]),
        ("roc", "d.csv", b"y,a\n1,2\n", ["--score", "'d.csv'"]),
        ("roc", "d.csv", b"y,s\n", ["--label 'y' and --score 's'", "no records"]),
        ("residuals", "d.csv", f"x,s\n1,{SECRET}?\n".encode(), ["--residual 's'", "text"]),
        ("residuals", "d.csv", f"{SECRET},s\n1,2\n".encode(), ["--predicted", "'d.csv'"]),
        ("residuals", "d.csv", b"x,s\n1\n", ["FILE 'd.csv'", "CSV"]),
        ("residuals", "d.csv", b"x,s\n,\n", ["--predicted 'x' and --residual 's'", "no records"]),
    ],
)
def test_files_that_are_refused(refused, command, file, content, words):
    if content is not None:
        Path(file).write_bytes(content)
    policy = ["--nan-policy", "omit"]
    error = refused(command, file, *GIVEN[command], *policy, "--json", "o.json")
    assert all(word in error for word in words)


def test_more_groups_than_records_are_refused_before_anything_is_released(refused, monkeypatch):
    monkeypatch.setattr(scored, "labelled_score_curves", None)
    error = refused("hosmer-lemeshow", "t.csv", *SCORED, "--groups", "10")
    assert error.startswith("--groups")
    assert error.endswith("9; got 10")


@pytest.mark.parametrize(
    ("command", "content", "column", "records"),
    [
        ("cdf", f"x,y\n{SECRET},\n,\nNaN,\n", "--column 'x'", 1),
        ("roc", f"y,s\n1,0.3\n,0.4\n0,\n1,NaN\n{SECRET},0.2\n", "--label 'y'", 2),
        ("roc", "y,s\n1,0.3\n0,\n", "--score 's'", 1),
        ("residuals", "x,s\n1,2\n1,\n", "--residual 's'", 1),
        ("residuals", "x,s\n1,2\n,1\n", "--predicted 'x'", 1),
        ("residuals", "x,s\n1,2\n,\n", "--predicted 'x'", 1),
        ("residuals", "x,s\n1,2\n1,NaN\n", "--residual 's'", 1),
    ],
)
def test_missing_values(refused, capsys, command, content, column, records):
    Path("m.csv").write_text(content)
    error = refused(command, "m.csv", *GIVEN[command])
    assert error.startswith(f"{column} has missing values")
    assert "--nan-policy omit" in error
    assert cli.main([command, "m.csv", *GIVEN[command], "--nan-policy", "omit"]) == 0
    assert f"records     {records}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("module", "extra", "argv"),
    [("pyarrow", "io", []), ("matplotlib", "plot", ["--plot", "o.png"])],
)
def test_missing_extras_are_named(refused, monkeypatch, module, extra, argv):
    for name in [*sys.modules, module]:
        if name.partition(".")[0] == module:
            monkeypatch.setitem(sys.modules, name, None)
    assert f"dpcore[{extra}]" in refused("cdf", "t.csv", *EXACT, *argv)


@pytest.mark.parametrize("failing", [1, 2])
def test_full_disk_releases_nothing(refused, monkeypatch, failing):
    Path("o.json").write_text("old")
    real, written = os.fsync, []

    def fsync(number):
        written.extend([number] * (os.fstat(number).st_size > 0))
        if len(written) == failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    error = refused("cdf", "t.csv", *EXACT, "--json", "o.json", "--plot", "o.png")
    assert error.startswith(["--json 'o.json'", "--plot 'o.png'"][failing - 1])
    assert error.endswith("No space left on device; nothing was released")
    assert Path("o.json").read_text() == "old"


@pytest.mark.parametrize("command", ["cdf", "residuals"])
def test_nothing_is_written_in_part(refused, command):
    Path("o.json").write_text("old")
    Path("o.png").mkdir()
    refused(command, "t.csv", *GIVEN[command], "--json", "o.json", "--plot", "o.png")
    assert Path("o.json").read_text() == "old"


def test_interruption(tables, capsys, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = names(tables)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read=interrupt)))
    assert cli.main(["cdf", "-", *EXACT, "--json", "o.json"]) == 130
    assert capsys.readouterr() == ("", "")
    assert names(tables) == before


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("mine.py:Own", "'mine' is not a package"),
        ("mine:Other", "has no attribute 'Other'"),
        ("broken:Own", "No module named 'nothing_here'"),
        ("none:Own", "No module named 'none'"),
    ],
)
def test_a_mechanism_that_cannot_be_imported(name, why, monkeypatch, capsys):
    for module in ("mine", "broken"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    Path("mine.py").write_text("Own = 3\n")
    Path("broken.py").write_text("import nothing_here\n")
    assert cli.main(["cdf", "t.csv", *EXACT, "--mechanism", name]) == 2
    told = capsys.readouterr().err
    assert f"error: --mechanism: there is no {name}: " in told
    assert why in told


@pytest.mark.parametrize("command", GIVEN)
def test_the_help_names_all_mechanisms(command, capsys):
    assert cli.main([command, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for name in ("adaptive-quantiles", "dawa", "dyadic", "hierarchy", "toeplitz"):
        assert f" {name}," in text
    assert ("dyadic-paper" in text) is (command != "residuals")
    known = "or module:Class"
    assert f"{known} of your own (best: the most accurate)" in text
    assert cli.main([command, "t.csv", *GIVEN[command], "--mechanism", "none"]) == 2
    assert f"{known}; got 'none'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["cdf", "t.csv", "--colum", "x"], "no option '--colum': did you mean --column?"),
        (["cdf", "t.csv", *EXACT, "--nan_policy=omit"], "did you mean --nan-policy?"),
        (["cdf", "t.csv", *EXACT, "--zzz"], "no option '--zzz': dpcore cdf --help lists"),
        (["rocc", "t.csv"], "no command 'rocc': did you mean roc?"),
        (["xyz"], "no command 'xyz': it must be one of cdf, roc, "),
    ],
)
def test_a_wrong_name_leads_to_the_right_one(refused, argv, words):
    assert words in refused(*argv)


def test_a_missing_budget_says_how_to_make_one(refused):
    error = refused("cdf", "t.csv", *EXACT, "--budget", "my budget.sqlite")
    assert "needs a cap: dpcore budget 'my budget.sqlite' --epsilon 1 makes one" in error


def test_times_with_a_zone_need_bounds_with_one(refused):
    Path("z.csv").write_text("x\n2024-01-31T00:00Z\n")
    argv = ["--column", "x", "--epsilon", "1", "--lower", "2024-01-01", "--upper", "2025-01-01"]
    error = refused("cdf", "z.csv", *argv)
    assert 'those with one need bounds with one: "2024-01-01T00:00Z"' in error


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ("", "COMMAND is missing: it must be one of cdf, "),
        ("cdf", "missing: FILE, --column, --lower, --upper"),
        ("cdf t.csv --column x --lower 0 --upper 1", "missing: one of --epsilon --rho"),
        ("cdf t.csv --epsilon 1 --rho 1", "give --rho or --epsilon, not both"),
        ("cdf t.csv --epsilon x", "--epsilon must be a number; got 'x'"),
        ("cdf t.csv --epsilon", "--epsilon needs a value"),
        ("cdf t.csv --quantiles", "there is no option '--quantiles': dpcore cdf --help lists"),
    ],
)
def test_what_is_wrong_with_the_line_is_said_in_plain_words(refused, argv, words):
    assert refused(*argv.split()).startswith(words)


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps the folder of a process")
@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["cdf", "FILE", "--epsilon", "1", "--budget", "b.json"], "--budget 'b.json' cannot be"),
        (["cdf", "FILE", "--epsilon", "1", "--json", "o.json"], "--json 'o.json' cannot be"),
        (["cdf", "FILE", "--epsilon", "1", "--mechanism", "own:Own"], "FILE '.' cannot be found"),
        (["cdf", "t.csv", "--epsilon", "1"], "FILE 't.csv' cannot be"),
        (["study", "own.py", "--out", "own"], "FILE 'own.py' cannot be"),
        (["study", "bounds", "--out", "own", "--workers", "1"], "--out 'own' cannot be found"),
        (["study", "bounds", "--workers", "2"], "FILE '.' cannot be found"),
    ],
)
def test_relative_paths_where_the_folder_is_gone(tables, argv, said, capsys, monkeypatch):
    file, gone = str(tables / "t.csv"), tables / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    argv = [file if word == "FILE" else word for word in argv]
    columns = ["--column", "x", "--lower", "0", "--upper", "1"] if argv[0] == "cdf" else []
    assert cli.main([*argv, *columns]) == 2
    assert capsys.readouterr().err.startswith(f"dpcore: error: {said}")
