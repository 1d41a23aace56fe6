"""Numbers in what the command line prints are as long as a reader can use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpcore.command_line import main as cli


def test_the_share_of_a_mechanism_has_six_digits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "residuals.csv"
    file.write_text("p,r\n" + "1.5,0.5\n" * 2100)
    columns = ["--predicted", "p", "--residual", "r"]
    assert cli.main(["residuals", str(file), *columns, "--epsilon", "0.9", "--cells", "2"]) == 0
    found = re.search(r"^mechanism +\w+, epsilon (\S+)$", capsys.readouterr().out, re.MULTILINE)
    assert found is not None
    assert found[1] == "0.67619"  # of 0.9 - 470 / 2100
