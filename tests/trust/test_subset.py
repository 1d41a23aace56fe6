"""Subset selection: the sampler on the words of a plain one, sums of reports, and errors."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcore as dp
from dpcore.kernels.clients import subsets
from dpcore.noise import windows
from dpcore.trust import SubsetSelection
from dpcore.trust.models import blocks
from dpcore.trust.models.levels import levels_of
from tests import reference
from tests.trust.unary_bits import fits, unpacked

SIZES = ((2, 1), (3, 2), (64, 1), (65, 7), (200, 20))


@pytest.mark.parametrize(("size", "chosen"), SIZES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2**20), 0.1, 1, 3.0, 40])
def test_the_missing_share_is_the_least_multiple(epsilon, size, chosen):
    missing = SubsetSelection(epsilon, size, chosen).missing
    assert 2**64 % missing.denominator == 0
    with mpmath.workdps(60):
        exponent, rest = Fraction(epsilon), size - chosen
        grown = chosen * mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)
        true = rest / (grown + rest)
        assert mpmath.mpf(missing.numerator) / missing.denominator >= true
        assert mpmath.mpf(missing.numerator) / missing.denominator - mpmath.mpf(2) ** -64 < true


@pytest.mark.parametrize("window", [10**6, 40])
@pytest.mark.parametrize(("size", "chosen"), SIZES)
def test_the_kernel_does_what_the_plain_one_does(size, chosen, window):
    rng, missing = np.random.default_rng(size), Fraction(3, 8)
    words = rng.integers(0, 2**32, 4000, dtype=np.uint32)
    words[:5] = 0, 0, 2**32 - 1, 0, 1  # the smallest draw, and words that are rejected
    values = rng.integers(0, size, 20)
    plain = iter(words.tolist())
    true = [reference.subset_report(plain, v, size, chosen, missing) for v in values.tolist()]
    reports = np.full((values.size, -(-size // 64)), 2**64 - 1, np.uint64)
    done, begin, end = 0, 0, window
    while done < values.size:
        finished, used = subsets.perturb(
            words[begin:end], values[done:], size, chosen, np.uint64(3 * 2**61), reports[done:]
        )
        done, begin, end = done + finished, begin + used, end + window
    assert begin == words.size - len(list(plain))
    assert [np.flatnonzero(row).tolist() for row in unpacked(reports)] == true


def test_reports_do_not_depend_on_threads_or_windows(monkeypatch):
    encoding, values = SubsetSelection(1.0, 70, 9), np.arange(300) % 70
    monkeypatch.setattr(blocks, "_CLIENTS", 50)
    first = encoding.perturb(values, np.random.default_rng(3), workers=1)
    assert np.array_equal(first, encoding.perturb(values, np.random.default_rng(3), workers=3))
    monkeypatch.setattr(windows, "WINDOW", 17)
    assert np.array_equal(first, encoding.perturb(values, np.random.default_rng(3)))
    totals = encoding.perturbed_totals(np.full(70, 4), np.random.default_rng(3), workers=3)
    ordered = encoding.perturb(np.repeat(np.arange(70), 4), np.random.default_rng(3))
    assert np.array_equal(totals, encoding.totals(ordered))
    assert not np.array_equal(first, encoding.perturb(values))


@pytest.mark.needs_jit
@pytest.mark.parametrize(("size", "chosen"), [(2, 1), (6, 1), (6, 2), (7, 6), (66, 2)])
def test_each_set_has_its_probability(size, chosen):
    encoding, clients = SubsetSelection(1.5, size, chosen), 100_000
    reports = encoding.perturb(np.full(clients, 1), np.random.default_rng(5))
    bits = unpacked(reports, size)
    assert np.all(bits.sum(axis=1) == chosen)
    assert np.array_equal(bits, unpacked(reports)[:, :size])
    law = list(reference.subset_law(size, chosen, 1, float(encoding.missing)))
    where = {each: at for at, (each, _) in enumerate(law)}
    found = np.bincount(
        [where[tuple(np.flatnonzero(row).tolist())] for row in bits], minlength=len(law)
    )
    assert fits(found, clients * np.array([chance for _, chance in law]))


@given(st.integers(2, 40), st.data())
def test_simulated_totals_are_of_whole_reports(size, data):
    chosen = data.draw(st.integers(1, min(6, size - 1)))
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size)))
    encoding = SubsetSelection(data.draw(st.sampled_from([0.1, 1.0, 5.0])), size, chosen)
    totals = encoding.simulated_totals(counts, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert totals.dtype == np.int64
    assert totals.sum() == chosen * counts.sum()
    assert totals.min() >= 0
    assert totals.max() <= counts.sum()


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize(("size", "chosen"), [(5, 2), (5, 3), (3, 1)])
def test_totals_of_reports_and_simulated_ones_have_one_law(size, chosen):
    """Worked out for three clients: two have value 0, and one has value 2."""
    encoding, repeats = SubsetSelection(1.0, size, chosen), 20_000
    counts, rng = np.array([2, 0, 1] + [0] * (size - 3)), np.random.default_rng(4)
    law = {(0,) * size: 1.0}
    for value in (0, 0, 2):
        grown = {}
        for total, before in law.items():
            for each, chance in reference.subset_law(size, chosen, value, float(encoding.missing)):
                more = tuple(total[i] + (i in each) for i in range(size))
                grown[more] = grown.get(more, 0.0) + before * chance
        law = grown
    where, expected = {each: at for at, each in enumerate(law)}, np.array(list(law.values()))
    bits = unpacked(encoding.perturb(np.tile([0, 0, 2], repeats), rng), size)
    made = bits.reshape(repeats, 3, size).sum(axis=1, dtype=np.int64)
    simulated = np.array([encoding.simulated_totals(counts, rng) for _ in range(4000)])
    for totals in (made, simulated):
        found = np.bincount([where[tuple(row)] for row in totals.tolist()], minlength=len(law))
        assert fits(found, len(totals) * expected)


@pytest.mark.sample(1)
@pytest.mark.needs_jit
@pytest.mark.parametrize(("size", "chosen"), [(6, 1), (9, 3)])
def test_estimates_are_unbiased_with_the_stated_variance(size, chosen):
    encoding, rng = SubsetSelection(2.0, size, chosen), np.random.default_rng(2)
    counts = np.array([200, 60, 0, 0, 10] + [3] * (size - 5))
    clients = int(counts.sum())
    made = np.array([encoding.simulated_totals(counts, rng) for _ in range(4000)])
    estimates = encoding.estimates(made)
    assert np.allclose(estimates.sum(axis=1), clients)
    variances = np.array([encoding.variance(clients, int(count)) for count in counts])
    errors = np.sqrt(variances / len(made))
    assert np.all(np.abs(estimates.mean(axis=0) - counts) < 5 * errors)
    assert np.all(np.abs(estimates.var(axis=0) / variances - 1) < 6 * np.sqrt(2 / len(made)))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 5.0])
def test_levels_take_the_encoding_with_the_lower_variance(epsilon):
    for level in levels_of(Fraction(epsilon), 1024, (2,) * 10):
        q = 1 / (np.exp(epsilon) + 1)
        unary = q * (1 - q) / (0.5 - q) ** 2 + 1 / level.nodes
        others = []
        for chosen in range(1, min(64, level.nodes - 1) + 1):
            encoding = SubsetSelection(epsilon, level.nodes, chosen)
            own, other = float(encoding.variance(1, 1)), encoding.variance(1)
            # equally frequent nodes: what is left of a level's covariance, without the known total
            others.append((own + (level.nodes - 1) * other) / (level.nodes - 1))
        best = min(others)
        assert level.ones == (1 + int(np.argmin(others)) if best <= 0.9 * unary else None)


def test_the_best_number_is_near_that_of_the_papers():
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        for size in (4, 20, 100):
            chosen = SubsetSelection(epsilon, size).chosen
            assert abs(chosen - size / (np.exp(epsilon) + 1)) <= 1


def test_a_report_of_all_but_one_and_of_values_out_of_range():
    encoding = SubsetSelection(40, 5, 4)
    reports = encoding.perturb([-7, 2, 9, 2**63], np.random.default_rng(1))
    bits = unpacked(reports, 5)
    assert np.all(bits[range(4), [0, 2, 4, 0]] == 1)  # it is missing with probability 10^-18
    assert SubsetSelection(2.5, 5).epsilon == Fraction(5, 2)
    assert encoding.perturb([], np.random.default_rng(1)).shape == (0, 1)
    assert encoding.perturbed_totals([0] * 5).tolist() == [0] * 5


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda e: SubsetSelection(0, 4), dp.ParameterError, "epsilon"),
        (lambda e: SubsetSelection(1, 1), dp.ParameterError, "size .*got 1"),
        (lambda e: SubsetSelection(1, 4, 4), dp.ParameterError, "chosen .*got 4"),
        (lambda e: SubsetSelection(1, 100, 65), dp.ParameterError, "chosen"),
        (lambda e: SubsetSelection(1, 4, "best"), dp.ParameterError, "chosen"),
        (lambda e: SubsetSelection(1, 4, 1.5), dp.DtypeError, "chosen"),
        (lambda e: e.perturb([1.0]), dp.DtypeError, "values"),
        (lambda e: e.perturb([[1]]), dp.ParameterError, "values"),
        (lambda e: e.perturb([1], 7), dp.DtypeError, "rng"),
        (lambda e: e.totals(np.zeros((2, 1), int)), dp.DtypeError, "reports"),
        (lambda e: e.totals(np.zeros((2, 2), np.uint64)), dp.ParameterError, r"\(R, 1\)"),
        (lambda e: e.estimates([1, 2]), dp.ParameterError, "totals"),
        (lambda e: e.variance(3, 4), dp.ParameterError, "count"),
        (lambda e: e.simulated_totals([1] * 5, None), dp.DtypeError, "rng"),
        (lambda e: e.perturbed_totals([1] * 4), dp.ParameterError, "counts"),
        (lambda e: e.perturbed_totals([1] * 5, 7), dp.DtypeError, "rng"),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call(SubsetSelection(1, 5))
