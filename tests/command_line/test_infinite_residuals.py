"""Residuals of infinite values: the command line takes such records for what they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpcore.command_line import main as cli

RANGES = ["--predicted-range", "0", "9", "--residual-range", "-9", "9", "--cells", "2"]
SURE = ["--epsilon", "1e6", "--mechanism", "histogram"]  # integer noise that is zero


@pytest.mark.parametrize("policy", ["raise", "omit"])
@pytest.mark.parametrize("last", ["inf,inf", "-inf,-inf", "inf,-inf", "inf,3", "3,inf", "3,3"])
def test_how_many_records_there_are_does_not_depend_on_what_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], last: str, policy: str
) -> None:
    file = tmp_path / "some.csv"
    file.write_text(f"p,y\n1,2\n2,1\n{last}\n")
    columns = ["--predicted", "p", "--actual", "y", "--nan-policy", policy]
    with np.errstate(invalid="raise", over="raise"):
        assert cli.main(["residuals", str(file), *columns, *RANGES, *SURE]) == 0
    out = capsys.readouterr().out
    assert "records     3\n" in out
    assert f"outside     {int('inf' in last)} records (released)\n" in out
