from __future__ import annotations

import pytest

import dpcore as dp
from dpcore import Privacy


def test_guarantees_add_up():
    total = Privacy(0.5) + Privacy(0.25, 1e-6) + Privacy(0.25)
    assert total == Privacy(1.0, 1e-6)


def test_one_simulated_part_makes_the_whole_simulated():
    assert (Privacy(1.0) + Privacy(1.0, simulated=True)).simulated
    assert "SIMULATED" in str(Privacy(1.0, simulated=True))
    assert "SIMULATED" not in str(Privacy(1.0))


def test_different_relations_do_not_add_up():
    with pytest.raises(dp.ParameterError, match="must be 'replace-one' in both"):
        Privacy(1.0) + Privacy(1.0, neighbours="add-or-remove-one")
    with pytest.raises(TypeError):
        Privacy(1.0) + 1.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 0}, "epsilon must be positive"),
        ({"epsilon": float("nan")}, "epsilon must be finite"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta must be at least 0 and below 1"),
        ({"epsilon": 1.0, "delta": -0.1}, "delta must be"),
        ({"epsilon": 1.0, "neighbours": "any"}, "neighbours must be one of"),
        ({"epsilon": 1.0, "simulated": 1}, "simulated must be a bool"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        Privacy(**arguments)
