"""docs/guides/budget.md: exact tests agree with its table; its examples run."""

from __future__ import annotations

import doctest
import math
import re
from pathlib import Path

import numpy as np
import pytest

import dpcore as dp

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "budget.md"
LEVEL = 0.05


def belief(prior, epsilon):
    """What a belief can become when its odds are multiplied by exp(epsilon)."""
    odds = math.exp(epsilon) * prior / (1 - prior)
    return odds / (1 + odds)


def power(epsilon):
    """The bound of the page on the power of a test."""
    return min(LEVEL * math.exp(epsilon), 1 - (1 - LEVEL) * math.exp(-epsilon))


def table():
    lines = []
    for epsilon in (0.01, 0.1, 0.5, 1, 2, 5):
        shares = [belief(0.5, epsilon), belief(0.01, epsilon), power(epsilon)]
        cells = " | ".join(f"{100 * share:.3g} %" for share in shares)
        lines.append(f"| {epsilon:g} | {math.exp(epsilon):.3g} | {cells} |")
    return "\n".join(lines) + "\n"


def test_the_table_on_the_page():
    assert table() in PAGE.read_text("utf-8"), f"{PAGE} should hold\n{table()}"


def most_powerful(p, q):
    """The power of the likelihood ratio test of p against q, randomised to keep the level."""
    order = np.argsort(-q / p)
    level, power = np.cumsum(p[order]), np.cumsum(q[order])
    return np.interp(LEVEL, np.r_[0, level], np.r_[0, power])


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 2.0, 5.0])
def test_no_test_of_a_noisy_count_is_better_and_randomised_response_is_as_good(epsilon):
    reach = np.arange(-int(40 / epsilon), int(40 / epsilon) + 2)
    p, q = (np.exp(-epsilon * np.abs(reach - count)) for count in (0, 1))
    noisy = most_powerful(p / p.sum(), q / q.sum())
    assert LEVEL < noisy <= power(epsilon) * (1 + 1e-9)
    honest = 1 / (1 + math.exp(-epsilon))
    response = most_powerful(np.array([honest, 1 - honest]), np.array([1 - honest, honest]))
    assert response == pytest.approx(power(epsilon), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("prior", [0.5, 0.01])
def test_the_belief_after_a_noisy_count_is_within_the_bound_and_reaches_it(epsilon, prior):
    counts = np.arange(-40, 42)
    p, q = (np.exp(-epsilon * np.abs(counts - count)) for count in (0, 1))
    after = prior * q / (prior * q + (1 - prior) * p)
    assert after.max() == pytest.approx(belief(prior, epsilon), rel=1e-12)


@pytest.mark.needs_jit
def test_the_sessions_on_the_page_say_what_they_say():
    blocks = re.findall(r"```pycon\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    example = doctest.DocTestParser().get_doctest("".join(blocks), {}, PAGE.name, str(PAGE), 0)
    assert len(example.examples) >= 5
    said = []
    result = doctest.DocTestRunner().run(example, out=said.append)
    assert result.failed == 0, "".join(said)


def test_the_scripts_on_the_page_print_what_they_say(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 2
    names = {}
    for block in blocks:
        exec(block, names)
        (said,) = re.findall(r"^print\(.*?\)  # (.*)$", block, re.MULTILINE)
        assert capsys.readouterr().out == f"{said}\n"


def test_the_error_falls_as_the_page_says():
    """C / (n epsilon): epsilon times the error in records hardly depends on epsilon."""
    first, second = (
        epsilon * dp.plan(256, epsilon=epsilon).options[0].error for epsilon in (0.1, 1.0)
    )
    assert first == pytest.approx(second, rel=0.01)


if __name__ == "__main__":
    print(table(), end="")
