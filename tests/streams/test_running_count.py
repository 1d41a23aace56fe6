"""Running counts: the tree of Eq. 2 opened node by node, and states that are used once."""

from __future__ import annotations

import contextlib
import copy
import errno
import json
import os
import pickle
import stat
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
from dpcore.records.files import FileError
from dpcore.streams import CounterClosedError, RunningCount, open_nodes, running_count, saved_count
from tests import reference

BUDGETS = [{"epsilon": 0.5}, {"rho": 0.02}]


def seeded(seed=1, horizon=100, **options):
    budget = {} if options.keys() & {"epsilon", "rho"} else {"epsilon": 0.5}
    return RunningCount(horizon, **budget, **options, rng=np.random.default_rng(seed))


def releases(counter, increments, replicates):
    """Outputs of the whole stream, (replicates, horizon), each by a counter as good as new."""
    outputs = np.empty((replicates, counter.horizon), np.int64)
    for row in outputs:
        counter._state = running_count._State(0, 0, counter._tree.start())
        row[:] = counter.extend(increments)
    return outputs


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
        assert counter.standard_error() == pytest.approx(mechanism.standard_error(horizon + 1)[0])


@pytest.mark.needs_jit
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(("horizon", "base"), [(6, 2), (7, 3)])
def test_covariance_of_the_noise(horizon, base, budget):
    counter = RunningCount(horizon, **budget, base=base, rng=np.random.default_rng(5))
    noise = releases(counter, np.zeros(horizon, int), 40_000)
    expected = reference.tree_matrix(horizon, base)
    expected = counter.law.variance * (expected @ expected.T)
    assert np.cov(noise.T) == pytest.approx(expected, abs=0.03 * expected.max())
    assert np.diag(expected) == pytest.approx(counter.standard_error() ** 2)


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


@pytest.mark.parametrize("horizon", range(1, 40))
@pytest.mark.parametrize("base", [2, 3, 5])
def test_flows_that_do_not_look_ahead(horizon, base):
    """docs/streams.md, section 3: they exist, and cost at most max(1, 2 (base - 1) L)."""
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
        (lambda c: c.add(-1), "increment must be between 0 and 11529215046068469; got -1"),
        (lambda c: c.add(2**60), "increment must be between 0 and"),
        (lambda c: c.add(1.0), "increment must be an integer; got 1.0"),
        (lambda c: c.add(True), "increment must be an integer"),
        (lambda c: c.extend([1, -2, 3]), "increments must be between 0 and .*; got -2"),
        (lambda c: c.extend([1, 2**60]), "increments must be between 0 and .*; got 1152921504606"),
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
        (lambda: RunningCount(10, epsilon=1, rng=1), "rng must be None or"),
        (lambda: seeded().save(3), "path must be a path; got int"),
        (lambda: RunningCount.resume(None), "path must be a path; got NoneType"),
    ],
)
def test_bad_arguments(make, words):
    with pytest.raises((dp.ParameterError, dp.DtypeError), match=words):
        make()


# --- one state, one counter


@pytest.mark.parametrize("rng", [None, 5])
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_saved_count_goes_on_once(rng, budget, tmp_path):
    path = tmp_path / "count"
    counter = RunningCount(50, **budget, base=3, rng=rng and np.random.default_rng(rng))
    counter.extend([4] * 20)
    open_nodes = counter._state.held.nodes.tolist()
    counter.save(path)
    assert os.listdir(tmp_path) == ["count"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for call in (lambda: counter.add(1), lambda: counter.extend([]), lambda: counter.save(path)):
        with pytest.raises(CounterClosedError, match=f"was saved to '{path}'"):
            call()
    resumed = RunningCount.resume(path)
    assert os.listdir(tmp_path) == []
    assert (resumed.step, resumed.horizon, resumed.law) == (20, 50, counter.law)
    assert resumed.privacy == counter.privacy
    assert resumed._state.held.nodes.tolist() == open_nodes
    assert resumed._state.arrived == 80
    assert resumed.extend([1] * 30).shape == (30,)
    with pytest.raises(FileError, match="resumed only once"):
        RunningCount.resume(path)


def test_a_release_resumes_with_fresh_draws(tmp_path):
    counter = RunningCount(50, epsilon=0.001)
    counter.extend([0] * 20)
    ahead = counter._state.held.ahead
    assert ahead.size > 0
    counter.save(tmp_path / "count")
    assert json.loads((tmp_path / "count").read_bytes())["state"]["generator"] is None
    resumed = RunningCount.resume(tmp_path / "count")
    resumed.add(0)
    assert not np.isin(resumed._state.held.ahead, ahead).all()


def test_of_many_that_resume_one_does(tmp_path):
    path = tmp_path / "count"
    for _ in range(20):
        seeded().save(path)

        def attempt(_):
            with contextlib.suppress(FileError):
                return RunningCount.resume(path)

        with ThreadPoolExecutor(8) as pool:
            assert sum(found is not None for found in pool.map(attempt, range(8))) == 1
    assert os.listdir(tmp_path) == []


def test_links_are_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "count")
    seeded().save(tmp_path / "link")
    assert (tmp_path / "count").is_file()
    RunningCount.resume(tmp_path / "link")
    assert not (tmp_path / "count").exists()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(FileError):
        seeded().save(tmp_path / "loop")


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    (tmp_path / "count").write_text("precious")
    counter = seeded()
    with pytest.raises(FileError, match="cannot be written: File exists"):
        counter.save(tmp_path / "count")
    assert (tmp_path / "count").read_text() == "precious"
    with pytest.raises(FileError, match="cannot be written"):
        counter.save(tmp_path / "nowhere" / "count")
    assert counter.add(1) == seeded().add(1)


@pytest.mark.parametrize("failing", ["replace", "fsync"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_save_leaves_the_counter_open_and_no_file(failing, error, tmp_path):
    counter = seeded()
    with (
        mock.patch.object(saved_count.os, failing, side_effect=error),
        pytest.raises((FileError, KeyboardInterrupt)),
    ):
        counter.save(tmp_path / "count")
    assert os.listdir(tmp_path) == []
    assert counter.add(1) == seeded().add(1)


@pytest.mark.parametrize("failing", ["rename", "fsync"])
def test_a_failed_claim_leaves_the_file(failing, tmp_path):
    seeded().save(tmp_path / "count")
    before = (tmp_path / "count").read_bytes()
    problem = mock.Mock(side_effect=[OSError(5, "Input/output error")])
    honest = getattr(os, failing)

    def once(*arguments):
        return problem() if not problem.called else honest(*arguments)

    with (
        mock.patch.object(saved_count.os, failing, once),
        pytest.raises(FileError, match="cannot be claimed: Input/output error"),
    ):
        RunningCount.resume(tmp_path / "count")
    assert os.listdir(tmp_path) == ["count"]
    assert (tmp_path / "count").read_bytes() == before


def test_a_file_that_changes_while_it_is_read_is_put_back(tmp_path):
    seeded().save(tmp_path / "count")
    with pytest.raises(FileError, match="changed while it was read"):
        saved_count.claim(tmp_path / "count", b"what it held")
    assert os.listdir(tmp_path) == ["count"]
    RunningCount.resume(tmp_path / "count")


def test_a_folder_is_no_saved_count(tmp_path):
    with pytest.raises(FileError, match="cannot be read"):
        RunningCount.resume(tmp_path)


def saved(tmp_path):
    path = tmp_path / "count"
    counter = seeded(horizon=10)
    counter.extend([1, 2, 3])
    counter.save(path)
    return path, path.read_bytes()


def refused(path, content, words="saved count"):
    path.write_bytes(content)
    with pytest.raises(dp.FormatError, match=words):
        RunningCount.resume(path)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_cut_short_or_garbled_files_stay_where_they_are(tmp_path):
    path, content = saved(tmp_path)
    for size in range(len(content) - 1):
        refused(path, content[:size])
    for at in range(len(content) - 1):
        refused(path, content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    path.write_bytes(content)
    assert RunningCount.resume(path).step == 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", 'the field "format"'),
        (b'{"format": "dpcore.cdf", "version": 1}', 'the field "format"'),
        (b'{"format": "dpcore.running-count", "version": 2}', "another version"),
        (b'{"format": "dpcore.running-count", "version": true}', "another version"),
        (b'{"format": "dpcore.running-count", "version": 1}', "damaged"),
        (b'{"format": "dpcore.running-count", "version": 1.0}', "not JSON"),
    ],
)
def test_other_files(content, words, tmp_path):
    refused(tmp_path / "count", content, words)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("horizon", 2),
        ("horizon", "10"),
        ("epsilon", None),
        ("epsilon", [1, 0]),
        ("epsilon", [1]),
        ("rho", [1, 2]),
        ("base", 1),
        ("sensitivity", "paper"),
        ("sensitivity", []),
        ("noise_scale", [7, 1]),
        ("noise_scale", None),
        ("step", 11),
        ("step", True),
        ("count", -1),
        ("count", 2**62),
        ("nodes", [1, 2]),
        ("nodes", ["1", 2, 3, 4, 5]),
        ("nodes", [2**63, 2, 3, 4, 5]),
        ("nodes", None),
        ("generator", {}),
        ("generator", {"used": 10**6, "state": {}}),
        ("generator", {"used": 0, "state": {"bit_generator": "os"}}),
        ("generator", {"used": 0, "state": {"bit_generator": "PCG64"}}),
    ],
)
def test_fields_that_contradict_each_other(field, value, tmp_path):
    path, content = saved(tmp_path)
    state = saved_count.load(content)
    assert field in state
    refused(path, saved_count.dump(state | {field: value}), "saved count with")
    del state[field]
    refused(path, saved_count.dump(state), "missing or contradictory")


def test_a_generator_that_cannot_be_stored_is_refused_before_the_counter_closes(tmp_path):
    class Odd(np.random.PCG64):
        pass

    counter = RunningCount(10, epsilon=1, rng=np.random.Generator(Odd(1)))
    with pytest.raises(dp.ParameterError, match=r"rng must be one of MT19937, .* to be saved"):
        counter.save(tmp_path / "count")
    counter.add(1)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_counter_is_not_copied(duplicate):
    with pytest.raises(dp.DtypeError, match="must not be copied or pickled"):
        duplicate(seeded())


def test_a_file_that_may_have_been_resumed_is_not_taken_back(tmp_path, monkeypatch):
    counter, path = seeded(), tmp_path / "count"

    def resume_and_fail(folder):
        monkeypatch.undo()
        resumed.append(RunningCount.resume(path))
        raise OSError(errno.EIO, "no")

    resumed: list[RunningCount] = []
    monkeypatch.setattr("dpcore.streams.saved_count._sync", resume_and_fail)
    with pytest.raises(FileError, match="cannot be brought down to the disk"):
        counter.save(path)
    assert resumed[0].add(1) == seeded().add(1)
    with pytest.raises(CounterClosedError):
        counter.add(1)


def test_an_interrupt_after_the_renaming_leaves_the_counter_closed(tmp_path, monkeypatch):
    counter, path, replace = seeded(), tmp_path / "count", os.replace

    def interrupted(source, target):
        replace(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        counter.save(path)
    monkeypatch.undo()
    with pytest.raises(CounterClosedError):
        counter.add(1)
    assert RunningCount.resume(path).add(1) == seeded().add(1)


def test_a_forked_copy_is_closed():
    counter, process = seeded(), os.getpid()
    with (
        mock.patch("os.getpid", return_value=process + 1),
        pytest.raises(CounterClosedError, match=f"belongs to process {process}"),
    ):
        counter.add(1)
    assert counter.add(1) == seeded().add(1)
