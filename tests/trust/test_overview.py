"""The table of all trust models: its numbers are those of real releases and real reports."""

from __future__ import annotations

import numpy as np
import pytest

import dpcore as dp
from dpcore.errors import DtypeError, ParameterError
from dpcore.trust import Client, DistributedNoise, Protocol, Shuffled, overview
from tests.trust.rounds import RNG, ROUND

OWN = {
    option.model: option
    for option in overview(3000, 20, 2.0, delta=1e-6).options
    if type(option.trust).__module__.startswith("dpcore.")
}


def test_every_model_is_there():
    models = [model for model in dp.trust.trust_models() if model.__module__.startswith("dpcore.")]
    assert {type(option.trust) for option in OWN.values()} == {*models, Shuffled}


def test_shuffled_reports_need_a_delta():
    without, found = overview(3000, 20, 2.0), overview(3000, 20, 2.0, delta=1e-6)
    assert {option.model for option in found.options} - {
        option.model for option in without.options
    } == {"shuffled"}
    assert OWN["shuffled"].privacy == dp.Privacy(2.0, 1e-6)
    assert OWN["central"].usual_error < OWN["shuffled"].usual_error < OWN["local"].usual_error
    assert "epsilon" in dict(overview(3000, 20, 50.0, delta=1e-6).refusals)["shuffled"]


@pytest.mark.parametrize("model", OWN)
def test_clients_send_the_bytes(model):
    option = OWN[model]
    trust = option.trust.local(20) if model == "shuffled" else option.trust
    protocol = Protocol(trust, 20, ROUND)
    rng = RNG(1)
    sent = [sum(map(len, Client(protocol, rng).report(cell))) for cell in list(range(20)) * 5]
    assert max(sent) == option.sent
    assert protocol.receivers == option.servers


@pytest.mark.parametrize("model", OWN)
def test_errors_are_those_of_releases(model):
    option, rng = OWN[model], RNG(2)
    counts = rng.multinomial(3000, np.full(20, 0.05))
    released = np.array([option.trust.release(counts, rng=rng) for _ in range(300)])
    errors = np.sqrt(np.mean((released - np.cumsum(counts)) ** 2, axis=0)) / 3000
    usual = np.sqrt(np.mean(errors**2))
    largest = np.abs(released - np.cumsum(counts)).max(axis=1).mean() / 3000
    assert option.expected_largest == pytest.approx(largest, rel=0.5 if "wave" in model else 0.2)
    if model == "secure-aggregation":
        assert option.error == option.largest_error == option.usual_error == usual == 0.0
    elif model == "square-wave":
        assert option.error == option.largest_error == np.inf
        assert 0.5 < usual / option.usual_error < 1.5
    else:
        assert usual == pytest.approx(option.usual_error, rel=0.1)
        assert usual <= option.error * 1.1
        assert errors.max() <= option.largest_error * 1.2


def test_the_table_is_sorted_fits_and_is_shown_in_notebooks():
    found = overview(10_000, dp.Grid.uniform(0, 1, 256), 1.0)
    usual = [option.usual_error for option in found.options]
    assert usual == sorted(usual)
    assert max(map(len, repr(found).splitlines())) <= 88
    assert found._repr_html_().count("<tr>") == len(found.options) + 1
    assert list(found.to_frame()["model"]) == [option.model for option in found.options]
    assert repr(overview(10_000, 256, 1.0)) == repr(found)
    with_delta = overview(10_000, 256, 1.0, delta=1e-6).to_frame().set_index("model")
    assert with_delta["delta"].map(bool).sum() == 1
    assert with_delta.loc["shuffled", "delta"] == 1e-6


@pytest.mark.usefixtures("own_registry")
def test_a_model_of_ones_own_has_a_row():
    class Loud(DistributedNoise):
        """A trust model that ``overview`` has never heard of."""

        __slots__ = ()
        advised = "loud <b>"
        trusted = "a friend"

        def noise_deviation(self, size):
            return 5 * DistributedNoise.noise_deviation(self, size)

    found = overview(1000, 64, 1.0)
    [loud] = [option for option in found.options if type(option.trust) is Loud]
    [usual] = [option for option in found.options if type(option.trust) is DistributedNoise]
    assert loud.trusted == "a friend"
    assert loud.error == pytest.approx(5 * usual.error)
    assert "loud &lt;b&gt;" in found._repr_html_()


def test_models_that_do_not_go_say_why():
    found = overview(1000, 64, 50.0)
    assert dict(found.refusals).keys() >= {"local", "square-wave"}
    assert "local: epsilon" in repr(found)
    assert "local: epsilon" in found._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "error", "name"),
    [
        ((0, 64, 1.0), ParameterError, "clients"),
        ((9, 1, 1.0), ParameterError, "grid"),
        ((9, "64", 1.0), DtypeError, "grid"),
        ((9, 64, None), DtypeError, "epsilon"),
        ((9, 64, -1.0), ParameterError, "epsilon"),
        ((9, 64, 1.0, 1.0), ParameterError, "delta"),
        ((9, 64, 1.0, "1e-6"), DtypeError, "delta"),
    ],
)
def test_errors_name_the_argument(arguments, error, name):
    with pytest.raises(error, match=name):
        overview(*arguments)
