"""Running counts: the tree of Eq. 2 opened node by node, its noise, cuts and bad arguments."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcore as dp
from dpcore.kernels.trees import streams as kernels
from dpcore.mechanisms import Dyadic
from dpcore.noise import DiscreteGaussian, DiscreteLaplace
from dpcore.noise.sources import GeneratorSource
from dpcore.streams import BufferedToeplitz, ConsistentTree, DyadicTree, RunningCount
from dpcore.streams import draws as draws_module
from tests import reference
from tests.streams.counters import BUDGETS, seeded


def law_of(mechanism, horizon):
    return mechanism.noise(horizon).draws.law


# --- the same release as the dyadic mechanism


@settings(max_examples=60)
@given(st.integers(1, 200), st.integers(2, 9), st.integers(1, 3), st.integers(0, 2**32))
def test_kernel_sums_the_nodes_that_cover_each_threshold(thresholds, base, width, seed):
    matrix = reference.tree_matrix(thresholds, base)
    order = reference.opening_order(thresholds, base)
    draws = np.random.default_rng(seed).integers(-100, 100, (len(order), width))
    out = np.empty((thresholds, width), np.int64)
    held = np.zeros((reference.levels(thresholds, base) + 1, width), np.int64)
    half = thresholds // 2
    opened = sum(-(-half // base**level) for level in range(held.shape[0]))
    kernels.open_nodes(out[:half], draws[:opened], held, 0, base)
    kernels.open_nodes(out[half:], draws[opened:], held, half, base)
    assert np.array_equal(out, matrix[:, order] @ draws)


@settings(max_examples=30)
@given(st.integers(1, 200), st.integers(2, 9), st.sampled_from(BUDGETS), st.integers(0, 2**32))
def test_every_output_is_the_count_and_its_nodes(horizon, base, budget, seed):
    rng = np.random.default_rng(seed)
    mechanism = DyadicTree(**budget, base=base)
    counter = RunningCount(horizon, mechanism, rng=np.random.default_rng(seed))
    order = reference.opening_order(horizon, base)
    draws = np.empty(1024 * -(-len(order) // 1024), np.int64)
    stream = GeneratorSource(np.random.default_rng(seed).spawn(1)[0])
    for block in draws.reshape(-1, 1024):
        law_of(mechanism, horizon).fill(block, stream)
    draws = draws[: len(order)]
    increments = rng.integers(0, 9, horizon)
    noise = reference.tree_matrix(horizon, base)[:, order] @ draws
    assert np.array_equal(counter.extend(increments), np.cumsum(increments) + noise)


@pytest.mark.parametrize("base", [2, 3, 5, 64])
def test_noise_is_that_of_the_dyadic_mechanism_on_one_more_cell(base):
    for horizon in range(1, 66):
        mechanism = Dyadic(epsilon=0.3, base=base)
        tree = DyadicTree(epsilon=0.3, base=base)
        assert law_of(tree, horizon).scale == mechanism.noise_scale(horizon + 1)
        assert RunningCount(horizon, tree).noise_deviation() == pytest.approx(
            mechanism.noise_deviation(horizon + 1)[0]
        )


# --- blocks of draws


@pytest.fixture
def drawn(monkeypatch):
    """All draws, block by block."""
    blocks = []
    fill = DiscreteLaplace.fill

    def noted(self, out, stream):
        fill(self, out, stream)
        blocks.append(out.copy())

    monkeypatch.setattr(DiscreteLaplace, "fill", noted)
    return blocks


@pytest.mark.parametrize("base", [2, 3, 7, 5000])
@pytest.mark.parametrize("rng", [None, np.random.default_rng(1)])
def test_every_draw_is_the_noise_of_its_node(drawn, base, rng):
    counter = RunningCount(5000, DyadicTree(1.0, base=base), rng=rng)
    outputs = []
    for steps in (1, 2, 1, 48, 9, 2500, 1, 2000, 438):
        outputs.extend(counter.extend(np.zeros(steps, int)).tolist())
    draws, open_nodes = iter(np.concatenate(drawn).tolist()), {}
    for step, output in enumerate(outputs):
        for level in range(reference.levels(5000, base) + 1):
            if step % base**level == 0:
                open_nodes[level] = next(draws)
        assert output == sum(open_nodes.values())


def test_a_release_draws_at_once_what_a_call_takes(drawn):
    counter = RunningCount(100_000, DyadicTree(1.0))
    counter.extend(np.zeros(10_000, int))
    nodes = sum(-(-10_000 // 2**level) for level in range(18))
    assert [block.size for block in drawn] == [nodes]
    counter.add(0)
    assert drawn[1].size == 1024
    counter.extend(np.zeros(80_000, int))
    assert max(block.size for block in drawn) <= 2**16


def test_a_study_draws_in_blocks_of_one_size(drawn):
    RunningCount(5000, DyadicTree(1.0), rng=np.random.default_rng(1)).extend(np.zeros(5000, int))
    assert {block.size for block in drawn} == {1024}


# --- guarantees and scales


@pytest.mark.parametrize(
    ("horizon", "options", "scale"),
    [
        (8, {"epsilon": 1.0}, 3),
        (365, {"epsilon": 1.0}, 9),
        (2**32, {"epsilon": 1.0}, 32),
        (8, {"epsilon": 1.0, "sensitivity": "paper"}, 4),
        (9, {"epsilon": 0.5, "sensitivity": "paper"}, 10),
        (1, {"epsilon": 1.0, "sensitivity": "paper"}, 1),
        (8, {"rho": 0.5}, 3),
        (365, {"epsilon": 1.0, "neighbours": "add-or-remove-one"}, 5),
        (1024, {"epsilon": 1.0, "neighbours": "add-or-remove-one"}, 6),
        (2**15, {"rho": 0.5, "neighbours": "add-or-remove-one"}, 8),
        (9, {"epsilon": 1.0, "neighbours": "add-or-remove-one", "sensitivity": "paper"}, 3),
    ],
)
def test_scales(horizon, options, scale):
    law = DiscreteGaussian if "rho" in options else DiscreteLaplace
    assert law_of(DyadicTree(**options), horizon) == law(Fraction(scale))


@pytest.mark.parametrize("base", [2, 3, 5])
def test_scales_are_distances_in_the_graph(base):
    """Of a record that moves, and of one that comes or not, which is on the last boundary."""
    for horizon in [*range(1, 70), 127, 129]:
        distances = reference.distances(horizon, base)
        for neighbours, most in (
            ("replace-one", distances.max()),
            ("add-or-remove-one", distances[-1].max()),
        ):
            tree = DyadicTree(1.0, base=base, neighbours=neighbours)
            assert law_of(tree, horizon).scale == most
            if base == 2:
                paper = DyadicTree(1.0, neighbours=neighbours, sensitivity="paper")
                assert law_of(paper, horizon).scale >= most


def test_privacy_is_that_of_all_steps():
    assert RunningCount(10, epsilon=0.5).privacy == dp.Privacy(0.5)
    assert RunningCount(10, rho=0.5).privacy == dp.Privacy(rho=0.5)
    assert seeded().privacy == dp.Privacy(0.5, simulated=True)


@pytest.mark.sample(7)
@pytest.mark.parametrize("horizon", [*range(1, 18), 25, 26, 39])
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
    outputs, at = [], 0
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
    with mock.patch.object(draws_module, "BLOCK", 64):
        whole, cut = (seeded(seed, horizon, **budget, base=base) for _ in range(2))
        assert calls(cut, increments, cuts, path) == whole.extend(increments).tolist()


@pytest.mark.parametrize("kind", draws_module._GENERATORS.values())
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


@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 0.5}])
def test_without_a_horizon_early_steps_may_count_more(tmp_path, budget):
    counter = RunningCount(None, **budget)
    most = [2**55 // step for step in (1, 2, 3)]
    with pytest.raises(dp.ParameterError, match="36028797018963968 / step"):
        counter.extend([most[0], most[1] + 1])
    assert counter.step == 0
    outputs = counter.extend(most[:2])
    counter.save(tmp_path / "count")
    counter = RunningCount.resume(tmp_path / "count")
    with pytest.raises(dp.ParameterError, match="/ step, or 268435456 if"):
        counter.add(most[2] + 1)
    outputs = np.append(outputs, counter.add(most[2]))
    assert np.all(np.abs(outputs - np.cumsum(most)) < 1000)


# --- bad arguments


def quoted(name, value):
    return f"^{name} .*got '?{value}"


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: c.add(-1), dp.ParameterError, quoted("increment", "another")),
        (lambda c: c.add(2**60), dp.ParameterError, quoted("increment", "another")),
        (lambda c: c.add(1.0), dp.DtypeError, quoted("increment", "a float")),
        (lambda c: c.add(True), dp.DtypeError, quoted("increment", "a bool")),
        (lambda c: c.extend([1, -2, 3]), dp.ParameterError, quoted("increments", "others")),
        (lambda c: c.extend([1, 2**60]), dp.ParameterError, quoted("increments", "others")),
        (lambda c: c.extend(np.array([2**63], np.uint64)), dp.ParameterError, "increments"),
        (lambda c: c.extend([1.0]), dp.DtypeError, quoted("increments", "objects of type float")),
        (lambda c: c.extend(np.ones(1)), dp.DtypeError, quoted("increments", "dtype float64")),
        (
            lambda c: c.extend([1, True]),
            dp.DtypeError,
            quoted("increments", "objects of type bool"),
        ),
        (lambda c: c.extend([2**70]), dp.ParameterError, quoted("increments", "others")),
        (lambda c: c.extend(3), dp.ParameterError, quoted("increments", r"\(\)")),
        (lambda c: c.extend([[1]]), dp.DtypeError, quoted("increments", "objects of type list")),
        (lambda c: c.extend(np.ones((1, 1), int)), dp.ParameterError, r"\(1, 1\)"),
        (lambda c: c.extend([1] * 99), dp.ParameterError, "increments .*98 .*got '99"),
    ],
)
def test_bad_increments_change_nothing(call, error, words):
    counter, undisturbed = seeded(), seeded()
    first = counter.extend([5, 6])
    with pytest.raises(error, match=words):
        call(counter)
    assert counter.step == 2
    rest = counter.extend([7] * 98)
    assert np.array_equal(np.append(first, rest), undisturbed.extend([5, 6] + [7] * 98))
    with pytest.raises(dp.ParameterError, match=r"increment .* 0 "):
        counter.add(1)


def test_the_least_and_the_largest_counts_fit():
    counter = RunningCount(4, DyadicTree(1e-9))
    assert counter.extend([2**58] * 4)[-1] == pytest.approx(2**60, rel=1e-6)
    assert seeded().extend([]).dtype == np.int64
    assert seeded().extend(np.empty(0, np.int32)).size == 0


@pytest.mark.parametrize(
    ("make", "error", "name"),
    [
        (lambda: RunningCount(0, epsilon=1), dp.ParameterError, "horizon"),
        (lambda: RunningCount(2**32 + 1, epsilon=1), dp.ParameterError, "horizon"),
        (lambda: RunningCount(10.0, epsilon=1), dp.DtypeError, "horizon"),
        (lambda: RunningCount(10), dp.ParameterError, "epsilon"),
        (lambda: RunningCount(10, epsilon=1, rho=1), dp.ParameterError, "rho"),
        (lambda: RunningCount(10, epsilon=0), dp.ParameterError, "epsilon"),
        (lambda: RunningCount(10, rho=-1), dp.ParameterError, "rho"),
        (lambda: RunningCount(10, epsilon=1e-15), dp.ParameterError, "epsilon"),
        (lambda: DyadicTree(epsilon=1, base=1), dp.ParameterError, "base"),
        (lambda: RunningCount(10, DyadicTree(1.0), epsilon=1), dp.ParameterError, "epsilon"),
        (lambda: RunningCount(10, DyadicTree), dp.DtypeError, "mechanism"),
        (lambda: RunningCount(10, dp.mechanisms.Dyadic(1.0)), dp.DtypeError, "mechanism"),
        (lambda: RunningCount(None, DyadicTree(1.0)), dp.ParameterError, "horizon"),
        (lambda: seeded().noise_deviation(0), dp.ParameterError, "step"),
        (lambda: seeded().noise_deviation([1, 101]), dp.ParameterError, "step"),
        (lambda: seeded(base=3, sensitivity="paper"), dp.ParameterError, "base"),
        (lambda: seeded(sensitivity="none"), dp.ParameterError, "sensitivity"),
        (lambda: RunningCount(10, epsilon=1, rng=1), dp.DtypeError, "rng"),
        (lambda: seeded().save(3), dp.DtypeError, "path"),
        (lambda: RunningCount.resume(None), dp.DtypeError, "path"),
    ],
)
def test_bad_arguments(make, error, name):
    with pytest.raises(error, match=name):
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


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 0.5}])
def test_a_horizon_of_numpy_is_the_same_number(kind, budget, tmp_path):
    counter = RunningCount(kind(30), rng=np.random.default_rng(1), **budget)
    same = RunningCount(30, rng=np.random.default_rng(1), **budget)
    assert counter.noise_deviation() == same.noise_deviation()
    assert counter.add(10**6) == same.add(10**6)
    counter.save(tmp_path / "count")
    assert RunningCount.resume(tmp_path / "count").add(5) == same.add(5)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int64])
def test_noise_covers_a_record_that_moves_whatever_holds_the_horizon(kind):
    tree = ConsistentTree(1.0, branching=(2, 240))
    assert tree.noise(kind(250)).epochs[0].law == tree.noise(250).epochs[0].law
    assert tree.noise(250).epochs[0].law.scale == 4


@pytest.mark.parametrize("kind", [BufferedToeplitz, DyadicTree])
def test_a_share_of_epsilon_with_delta_is_one_of_its_rho(kind):
    whole = kind(epsilon=1.0, delta=1e-6)
    half = whole.with_share(Fraction(1, 2))
    assert half.budget.rho == whole.budget.rho / 2
    assert half.budget.stated is None


def test_a_name_of_another_mechanism_is_refused():
    with pytest.raises(dp.ParameterError, match="name of ConsistentTree"):

        class Other(ConsistentTree):
            name = ConsistentTree.name


@pytest.mark.parametrize(
    ("mechanism", "instead"),
    [
        (1.0, "for a budget, write epsilon=1.0"),
        (ConsistentTree, r"write ConsistentTree\(\.\.\.\)"),
        ("dyadic-tree", "as ConsistentTree"),
        (dp.mechanisms.Dyadic(1.0), "as ConsistentTree"),
    ],
)
def test_what_is_no_mechanism_is_refused_with_what_to_write(mechanism, instead):
    with pytest.raises(dp.DtypeError, match=instead):
        RunningCount(30, mechanism)
