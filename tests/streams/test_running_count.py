"""Running counts: the tree of Eq. 2 opened node by node, its noise, cuts and bad arguments."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

import dpcore as dp
from dpcore.kernels.trees import streams as kernels
from dpcore.mechanisms import Dyadic
from dpcore.noise import DiscreteGaussian, DiscreteLaplace
from dpcore.noise.sources import GeneratorSource
from dpcore.streams import RunningCount, open_nodes
from tests import reference
from tests.streams.counters import BUDGETS, releases, seeded

# --- the same release as the dyadic mechanism


@settings(max_examples=60)
@given(st.integers(1, 200), st.integers(2, 9), st.integers(1, 30), st.integers(0, 2**32))
def test_kernel_adds_the_nodes_that_cover_each_threshold(thresholds, base, window, seed):
    matrix = reference.tree_matrix(thresholds, base)
    order = reference.opening_order(thresholds, base)
    draws = np.random.default_rng(seed).integers(-100, 100, len(order))
    out = np.full(thresholds, 1000)
    held = np.zeros(reference.levels(thresholds, base) + 1, np.int64)
    done = at = 0
    size = window
    while done < thresholds:
        more, used = kernels.add_open_nodes(out[done:], draws[at : at + size], held, done, base)
        done, at = done + more, at + used
        size = window if more else size + window
    assert at == draws.size
    assert np.array_equal(out, 1000 + matrix[:, order] @ draws)


@settings(max_examples=30)
@given(st.integers(1, 200), st.integers(2, 9), st.sampled_from(BUDGETS), st.integers(0, 2**32))
def test_every_output_is_the_count_and_its_nodes(horizon, base, budget, seed):
    rng = np.random.default_rng(seed)
    counter = RunningCount(horizon, **budget, base=base, rng=np.random.default_rng(seed))
    order = reference.opening_order(horizon, base)
    draws = np.empty(len(order), np.int64)
    counter.law.fill(draws, GeneratorSource(np.random.default_rng(seed).spawn(1)[0]))
    increments = rng.integers(0, 9, horizon)
    noise = reference.tree_matrix(horizon, base)[:, order] @ draws
    assert np.array_equal(counter.extend(increments), np.cumsum(increments) + noise)


@pytest.mark.parametrize("base", [2, 3, 5, 64])
def test_noise_is_that_of_the_dyadic_mechanism_on_one_more_cell(base):
    for horizon in range(1, 66):
        mechanism = Dyadic(epsilon=0.3, base=base)
        counter = RunningCount(horizon, epsilon=0.3, base=base)
        assert counter.noise_scale == mechanism.noise_scale(horizon + 1)
        assert counter.noise_deviation() == pytest.approx(mechanism.noise_deviation(horizon + 1)[0])


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(("horizon", "base"), [(6, 2), (7, 3)])
def test_covariance_of_the_noise(horizon, base, budget):
    counter = RunningCount(horizon, **budget, base=base, rng=np.random.default_rng(5))
    noise = releases(counter, np.zeros(horizon, int), 40_000)
    expected = reference.tree_matrix(horizon, base)
    expected = counter.law.variance * (expected @ expected.T)
    assert np.cov(noise.T) == pytest.approx(expected, abs=0.03 * expected.max())
    assert np.diag(expected) == pytest.approx(counter.noise_deviation() ** 2)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize("projection", [(1, 0, 0, 0, 0), (0, 0, 0, 0, 1), (2, -1, 3, 0, -2)])
def test_outputs_are_distributed_as_one_release_of_the_dyadic_mechanism(projection):
    increments = np.array([3, 0, 2, 4, 1])
    mechanism = Dyadic(epsilon=2.0)
    batch = mechanism.release(
        np.append(increments, 7), rng=np.random.default_rng(11), replicates=20_000
    )
    counter = RunningCount(5, epsilon=2.0, rng=np.random.default_rng(12))
    values = [batch[:, :-1] @ projection, releases(counter, increments, 20_000) @ projection]
    edges = np.unique(np.quantile(np.concatenate(values), np.linspace(0, 1, 12)[1:-1]))
    table = [np.bincount(np.searchsorted(edges, v), minlength=edges.size + 1) for v in values]
    assert chi2_contingency(np.array(table)).pvalue > 1e-4


# --- guarantees and scales


def test_scales():
    assert RunningCount(365, epsilon=1.0).law == DiscreteLaplace(Fraction(9))
    assert RunningCount(8, epsilon=1.0).noise_scale == 3
    assert RunningCount(8, epsilon=1.0, sensitivity="paper").noise_scale == 4
    assert RunningCount(9, epsilon=0.5, sensitivity="paper").noise_scale == 10
    assert RunningCount(1, epsilon=1.0, sensitivity="paper").noise_scale == 1
    assert RunningCount(8, rho=0.5).law == DiscreteGaussian(Fraction(3))
    assert RunningCount(8, rho=0.5).noise_scale == 3
    assert RunningCount(2**32, epsilon=1.0).noise_scale == 32


def test_privacy_is_that_of_all_steps():
    assert RunningCount(10, epsilon=0.5).privacy == dp.Privacy(0.5)
    assert RunningCount(10, rho=0.5).privacy == dp.Privacy(rho=0.5)
    assert seeded().privacy == dp.Privacy(0.5, simulated=True)


@pytest.mark.sample(10)
@pytest.mark.parametrize("horizon", range(1, 40))
@pytest.mark.parametrize("base", [2, 3, 5])
def test_flows_that_do_not_look_ahead(horizon, base):
    """docs/proofs/streams.md, section 3: they exist, and cost at most max(1, 2 (base - 1) L)."""
    most = max(1, 2 * (base - 1) * reference.levels(horizon, base))
    matrix = reference.tree_matrix(horizon, base)
    for a in range(horizon):
        for b in range(a + 1, horizon + 1):
            flow = reference.causal_shift(horizon, base, a, b)
            change = (np.arange(horizon) >= a) & (np.arange(horizon) < b)
            assert np.array_equal(matrix @ flow, change)
            assert np.sum(flow**2) <= most


# --- cuts


def calls(counter, increments, cuts, path):
    """Take the steps in the given cuts, each by its own kind of call."""
    outputs = []
    at = 0
    for kind, size in [*cuts, ("extend", increments.size)]:
        part = increments[at : at + size]
        at += part.size
        if kind == "add":
            outputs += [counter.add(int(value)) for value in part]
        else:
            outputs += counter.extend(part).tolist()
        if kind == "resume":
            counter.save(path)
            counter = RunningCount.resume(path)
        assert counter.step == at
    return outputs


@settings(max_examples=60)
@given(
    st.integers(1, 200),
    st.integers(2, 12),
    st.sampled_from(BUDGETS),
    st.lists(st.tuples(st.sampled_from(["add", "extend", "resume"]), st.integers(0, 70))),
    st.integers(0, 2**32),
)
def test_outputs_do_not_depend_on_cuts(tmp_path_factory, horizon, base, budget, cuts, seed):
    path = tmp_path_factory.mktemp("cuts") / "count"
    increments = np.random.default_rng(seed).integers(0, 5, horizon)
    with mock.patch.object(open_nodes, "_BLOCK", 64):
        whole, cut = (
            RunningCount(horizon, **budget, base=base, rng=np.random.default_rng(seed))
            for _ in range(2)
        )
        assert calls(cut, increments, cuts, path) == whole.extend(increments).tolist()


@pytest.mark.parametrize("kind", open_nodes._GENERATORS.values())
def test_every_generator_of_numpy_goes_on_where_it_was(kind, tmp_path):
    whole, cut = (RunningCount(3000, epsilon=1, rng=np.random.Generator(kind(3))) for _ in "ab")
    first = cut.extend(np.ones(1234, int))
    cut.save(tmp_path / "count")
    rest = RunningCount.resume(tmp_path / "count").extend(np.ones(1766, int))
    assert np.array_equal(np.append(first, rest), whole.extend(np.ones(3000, int)))


def test_counters_of_one_generator_and_of_none_are_independent():
    rng = np.random.default_rng(4)
    counters = [RunningCount(50, epsilon=0.01, rng=rng) for _ in range(20)]
    counters += [RunningCount(50, epsilon=0.01) for _ in range(20)]
    assert len({tuple(counter.extend(np.zeros(50, int))) for counter in counters}) == 40


def test_an_interrupted_call_has_not_happened():
    counter, undisturbed = seeded(horizon=3000), seeded(horizon=3000)
    assert counter.add(1) == undisturbed.add(1)
    honest = DiscreteLaplace.fill
    blocks = []

    def interrupted(law, out, stream):
        honest(law, out, stream)
        blocks.append(out.size)
        if len(blocks) == 2:
            raise KeyboardInterrupt

    with mock.patch.object(DiscreteLaplace, "fill", interrupted), pytest.raises(KeyboardInterrupt):
        counter.extend(np.ones(2999, int))
    assert counter.step == 1
    ones = np.ones(2999, int)
    assert np.array_equal(counter.extend(ones), undisturbed.extend(ones))


def test_threads_take_turns():
    counter = seeded(horizon=2000)
    with ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(counter.add, [0] * 2000))
    assert counter.step == 2000
    assert sorted(outputs) == sorted(seeded(horizon=2000).extend([0] * 2000).tolist())


# --- bad arguments


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.add(-1), "increment must be between 0 and 11529215046068469; got 'another'"),
        (lambda c: c.add(2**60), "increment must be between 0 and"),
        (lambda c: c.add(1.0), "increment must be an integer; got a float"),
        (lambda c: c.add(True), "increment must be an integer"),
        (lambda c: c.extend([1, -2, 3]), "increments must be between 0 and .*; got 'others'"),
        (lambda c: c.extend([1, 2**60]), "increments must be between 0 and .*; got 'others'"),
        (lambda c: c.extend(np.array([2**63], np.uint64)), "increments must be between 0"),
        (lambda c: c.extend([1.0]), "increments must hold integers; got dtype float64"),
        (lambda c: c.extend([True]), "increments must hold integers; got dtype bool"),
        (lambda c: c.extend([2**70]), "increments must hold integers; got dtype object"),
        (lambda c: c.extend(3), "increments must be one-dimensional; got \\(\\)"),
        (lambda c: c.extend([[1]]), "increments must be one-dimensional; got \\(1, 1\\)"),
        (
            lambda c: c.extend([1] * 99),
            "increments must stay within .*: 98 steps are left; got '99",
        ),
    ],
)
def test_bad_increments_change_nothing(call, words):
    counter, undisturbed = seeded(), seeded()
    first = counter.extend([5, 6])
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        call(counter)
    assert counter.step == 2
    rest = counter.extend([7] * 98)
    assert np.array_equal(np.append(first, rest), undisturbed.extend([5, 6] + [7] * 98))
    with pytest.raises(dp.ParameterError, match=r"increment must stay within .*: 0 steps are left"):
        counter.add(1)


def test_the_largest_counts_fit():
    counter = RunningCount(4, epsilon=1e-9)
    assert counter.extend([2**58] * 4)[-1] == pytest.approx(2**60, rel=1e-6)


def test_no_steps():
    assert seeded().extend([]).dtype == np.int64
    assert seeded().extend(np.empty(0, np.int32)).size == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RunningCount(0, epsilon=1), "horizon must be between 1"),
        (lambda: RunningCount(2**33, epsilon=1), "horizon must be between 1"),
        (lambda: RunningCount(10.0, epsilon=1), "horizon must be an integer"),
        (lambda: RunningCount(10), "epsilon or rho must be given"),
        (lambda: RunningCount(10, epsilon=1, rho=1), "rho must not be given beside epsilon"),
        (lambda: RunningCount(10, epsilon=0), "epsilon must be positive"),
        (lambda: RunningCount(10, rho=-1), "rho must be positive"),
        (lambda: RunningCount(10, epsilon=1e-15), "epsilon is too small"),
        (lambda: RunningCount(10, epsilon=1, base=1), "base must be between 2"),
        (lambda: RunningCount(10, epsilon=1, base=3, sensitivity="paper"), "base must be 2 with"),
        (lambda: RunningCount(10, epsilon=1, sensitivity="none"), "sensitivity must be one of"),
        (lambda: RunningCount(10, epsilon=1, rng=1), "rng must be a generator"),
        (lambda: seeded().save(3), "path must be a path; got int"),
        (lambda: RunningCount.resume(None), "path must be a path; got NoneType"),
    ],
)
def test_bad_arguments(make, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        make()


@pytest.mark.parametrize("secret", [-7654321, 2**61 + 7654321, 0.7654321, "7654321", 7654321j])
def test_errors_quote_no_increment(secret):
    counter = RunningCount(horizon=10, epsilon=1.0)
    for call in (counter.add, lambda value: counter.extend([1, value])):
        with pytest.raises(dp.DpcoreError) as caught:
            call(secret)
        assert "7654321" not in str(caught.value)
        assert str(secret) not in repr(vars(caught.value))
    assert counter.step == 0
