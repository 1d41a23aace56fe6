"""Unary encodings: the exact q, the sampler on the words of a plain one, and totals of reports."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2

import dpcore as dp
from dpcore.kernels.clients import unary as kernels
from dpcore.noise import windows
from dpcore.trust.models import blocks, unary_law
from dpcore.trust.models.unary import UnaryEncoding
from tests.trust.unary_bits import SIGNIFICANCE, fits, unpacked

SIZES = (1, 63, 64, 65, 1000)
EPSILONS = (Fraction(1, 2**20), 1, 5.0, 40)  # dense, dense, sparse, sparse


def law_of(epsilon):
    return unary_law.law_of(UnaryEncoding(epsilon).q)


def symbols(epsilon):
    """Return the probabilities of all symbols, from their definition."""
    q = UnaryEncoding(epsilon).q
    if law_of(epsilon).perturb is kernels.perturb_sparse:
        return [q * (1 - q) ** zeros for zeros in range(255)] + [(1 - q) ** 255]
    return [q ** k.bit_count() * (1 - q) ** (8 - k.bit_count()) for k in range(256)]


class Plain:
    """The same draws, from a list of all words, with thresholds from fractions."""

    def __init__(self, words, epsilon):
        self.words, self.at = [int(word) for word in words], 0
        self.is_sparse = law_of(epsilon).perturb is kernels.perturb_sparse
        scaled = [2**16 * p for p in symbols(epsilon)]
        self.table = [k for k, cells in enumerate(scaled) for _ in range(int(cells))]
        self.edges, edge = [], Fraction(0)
        for cells in scaled:
            edge += cells - int(cells)
            self.edges.append(edge)

    def word(self):
        self.at += 1
        return self.words[self.at - 1]

    def digits(self, edge):
        """Return its whole part, and its digits in base 2^64."""
        digits = [int(edge)]
        for _ in range(255 if self.is_sparse else 8):
            edge = (edge - int(edge)) * 2**64
            digits.append(int(edge))
        return digits

    def uncertain(self, over):
        low, high, read = 0, 255, 0
        while low < high:
            middle = (low + high) // 2
            below = False
            for j, theirs in enumerate(self.digits(self.edges[middle])):
                begin = self.at + 4 * (j - 1)
                four = self.words[begin : begin + 4] if j else [over]
                ours = sum(word << 16 * i for i, word in enumerate(reversed(four)))
                read = max(read, j)
                if ours != theirs:
                    below = ours < theirs
                    break
            low, high = (low, middle) if below else (middle + 1, high)
        self.at += 4 * read
        return low

    def symbol(self, cell):
        known = len(self.table)
        return self.table[cell] if cell < known else self.uncertain(cell - known)

    def report(self, one, size):
        bits = []
        if self.is_sparse:
            coin = self.word()
            while len(bits) < size:
                zeros = self.symbol(self.word())
                bits += [0] * zeros + [1] * (zeros < 255)
        else:
            cells = [self.word() for _ in range(8 * -(-size // 64))]
            coin = self.word()
            for cell in cells:
                symbol = self.symbol(cell)
                bits += [symbol >> i & 1 for i in range(8)]
        if 0 <= one < size:
            bits[one] = coin & 1
        return bits[:size]


def test_q_is_the_least_multiple():
    for epsilon in (Fraction(1, 2**20), 0.1, Fraction(1, 3), 1, 2, np.float64(5), 39.5, 40):
        q = UnaryEncoding(epsilon).q
        assert 2**64 % q.denominator == 0
        with mpmath.workdps(60):
            exponent = Fraction(epsilon)
            true = 1 / (mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator) + 1)
            assert mpmath.mpf(q.numerator) / q.denominator >= true
            assert mpmath.mpf(q.numerator) / q.denominator - mpmath.mpf(2) ** -64 < true
        assert 0 < q < Fraction(1, 2)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_law_of_a_symbol_is_exact(epsilon):
    law = law_of(epsilon)
    cells = np.bincount(law.table[: law.certain], minlength=256)
    assert not law.table[law.certain :].any()
    edges = [Fraction(int.from_bytes(row.astype(">u8").tobytes(), "big")) for row in law.thresholds]
    unit = 2 ** (64 * (law.thresholds.shape[1] - 1))
    assert edges[-1] == (2**16 - law.certain) * unit
    for k, true in enumerate(symbols(epsilon)):
        over = edges[k] - (edges[k - 1] if k else 0)
        assert int(cells[k]) * unit + over == true * (unit << 16)
    assert sum(symbols(epsilon)) == 1


def adversarial(rng, epsilon, count):
    """Words of which many are uncertain, and follow thresholds for a few digits."""
    law = law_of(epsilon)
    words = rng.integers(0, 2**16, count, dtype=np.uint16)
    at = 0
    while at + 40 < count:
        at += int(rng.integers(1, 40))
        row = law.thresholds[rng.integers(256)]
        cell = law.certain + int(row[0])
        if cell < 2**16:
            words[at] = cell
            digits = int(rng.integers(0, 4))
            for j in range(1, digits + 1):
                for i in range(4):
                    place = at + 4 * (j - 1) + i + 1
                    if place < count:
                        words[place] = (int(row[j]) >> (48 - 16 * i)) & 0xFFFF
    return words


def sampled(words, ones, size, epsilon, window):
    """Run the kernel through windows of so many words, with what was cut short shown again."""
    law = law_of(epsilon)
    reports = np.full((ones.size, -(-size // 64)), 2**64 - 1, np.uint64)
    done, begin, end = 0, 0, window
    while done < ones.size:
        finished, used = law.perturb(
            words[begin:end],
            ones[done:],
            size,
            law.table,
            law.certain,
            law.thresholds,
            reports[done:],
        )
        assert 0 <= used <= end - begin
        done, begin, end = done + finished, begin + used, end + window
        assert begin < words.size
    return reports, begin


@pytest.mark.sample(7)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [*SIZES, 300])
def test_the_kernel_does_what_the_plain_one_does(epsilon, size):
    rng = np.random.default_rng(size)
    ones = rng.integers(-1, size + 1, 12)  # -1 and the size are no value
    for draw in (adversarial, lambda rng, _, count: rng.integers(0, 2**16, count, dtype=np.uint16)):
        words = draw(rng, epsilon, 40000)
        plain = Plain(words, epsilon)
        true = [plain.report(one, size) for one in ones]
        for window in (10**6, 50, 7):
            reports, used = sampled(words, ones, size, epsilon, window)
            assert used == plain.at
            assert unpacked(reports, size).tolist() == true
            assert not unpacked(reports)[:, size:].any()


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_real_that_equals_a_threshold_is_not_below_it(epsilon):
    law = law_of(epsilon)
    for k in (3, 100, 200):
        if law.certain + int(law.thresholds[k, 0]) >= 2**16:
            continue
        digits = [(int(d) >> s) & 0xFFFF for d in law.thresholds[k, 1:] for s in (48, 32, 16, 0)]
        cell = law.certain + int(law.thresholds[k, 0])
        first = [cell] + [0] * 8 if law.perturb is kernels.perturb_dense else [0, cell]
        words = np.array(first + digits + [0] * 2000, np.uint16)
        plain = Plain(words, epsilon)
        true = plain.report(-1, 64)
        reports, used = sampled(words, np.array([-1]), 64, epsilon, 10**6)
        assert used == plain.at
        assert unpacked(reports).tolist() == [true]


@pytest.mark.parametrize("epsilon", [1, 5.0])
def test_reports_do_not_depend_on_threads_or_windows(epsilon, monkeypatch):
    encoding, values = UnaryEncoding(epsilon), np.arange(-1, 300)
    monkeypatch.setattr(blocks, "_CLIENTS", 50)
    first = encoding.perturb(values, 290, np.random.default_rng(3), workers=1)
    assert np.array_equal(first, encoding.perturb(values, 290, np.random.default_rng(3), workers=3))
    monkeypatch.setattr(windows, "WINDOW", 17)
    assert np.array_equal(first, encoding.perturb(values, 290, np.random.default_rng(3)))
    counts = np.ones(70, int)
    totals = [
        encoding.perturbed_totals(counts, 120, np.random.default_rng(3), workers)
        for workers in (1, 3)
    ]
    assert np.array_equal(*totals)
    reports = encoding.perturb(
        np.r_[np.arange(70), np.full(50, -1)], 70, np.random.default_rng(3), workers=1
    )
    assert np.array_equal(totals[0], encoding.totals(reports, 70))
    assert not np.array_equal(first, encoding.perturb(values, 290))


@pytest.mark.sample(7)
@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [Fraction(1, 2**20), 1.0, 2.9, 5])
@pytest.mark.parametrize("size", SIZES)
def test_each_bit_has_its_probability(epsilon, size):
    encoding, clients = UnaryEncoding(epsilon), 20000
    for value in {0, size // 2, size - 1, -1}:
        reports = encoding.perturb(np.full(clients, value), size, np.random.default_rng(size))
        bits = unpacked(reports)
        assert not bits[:, size:].any()
        expected = np.full(size, float(encoding.q))
        if value >= 0:
            expected[value] = 0.5
        off = bits[:, :size].sum(axis=0) - clients * expected
        statistic = np.sum(off**2 / (clients * expected * (1 - expected)))
        assert chi2.cdf(statistic, size) < 1 - SIGNIFICANCE
        assert chi2.cdf(statistic, size) > SIGNIFICANCE


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [0.5, 3.5])
def test_bits_are_independent(epsilon):
    """All 2^9 reports of 9 positions (which lie in two symbols), with one of them a value."""
    encoding, clients = UnaryEncoding(epsilon), 200_000
    reports = encoding.perturb(np.full(clients, 4), 9, np.random.default_rng(5))[:, 0]
    q = np.full(9, float(encoding.q))
    q[4] = 0.5
    bits = np.arange(512)[:, None] >> np.arange(9) & 1
    expected = clients * np.prod(np.where(bits, q, 1 - q), axis=1)
    assert fits(np.bincount(reports.astype(int), minlength=512), expected)


def test_a_value_out_of_range_is_none_and_no_error():
    for values in (np.array([2**64 - 1], np.uint64), np.array([5]), np.array([-(2**63)])):
        reports = UnaryEncoding(40).perturb(np.repeat(values, 100), 5, np.random.default_rng(1))
        assert not reports.any()  # a one has probability 10^-17


# --- totals


@given(st.integers(0, 700), st.integers(1, 200) | st.just(1000), st.integers(0, 2**32))
@settings(max_examples=30)
def test_totals_are_the_sums_of_bits(rows, size, seed):
    rng = np.random.default_rng(seed)
    reports = rng.integers(0, 2**64, (rows, -(-size // 64)), dtype=np.uint64)
    totals = UnaryEncoding(1).totals(reports, size)
    assert totals.dtype == np.int64
    assert np.array_equal(totals, unpacked(reports, size).sum(axis=0, dtype=np.int64))
    assert np.array_equal(UnaryEncoding(1).totals(np.asfortranarray(reports), size), totals)


@pytest.mark.needs_jit
def test_totals_of_more_reports_than_the_planes_hold():
    reports = np.full((2**20 + 12345, 1), 2**64 - 1, np.uint64)
    reports[::3] = 5
    bits = unpacked(reports[:6])
    thirds = -(-reports.shape[0] // 3)
    true = np.where(bits[0], reports.shape[0], reports.shape[0] - thirds)
    assert np.array_equal(UnaryEncoding(1).totals(reports, 64), true)


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [1, 5])
def test_estimates_are_unbiased_with_the_stated_variance(epsilon):
    encoding, clients = UnaryEncoding(epsilon), 300
    counts, rng = np.array([200, 60, 0, 0, 10]), np.random.default_rng(2)
    made = [encoding.perturbed_totals(counts, clients, rng, workers=1) for _ in range(800)]
    variances = np.array([encoding.variance(clients, int(count)) for count in counts])
    for totals in (np.array(made), encoding.simulated_totals(counts, clients, rng, 30_000)):
        estimates = encoding.estimates(totals, clients)
        errors = np.sqrt(variances / len(totals))
        assert np.all(np.abs(estimates.mean(axis=0) - counts) < 5 * errors)
        relative = estimates.var(axis=0) / variances
        assert np.all(np.abs(relative - 1) < 6 * np.sqrt(2 / len(totals)))


@pytest.mark.needs_jit
@pytest.mark.parametrize("epsilon", [0.7, 4])
def test_totals_of_reports_and_simulated_ones_have_one_law(epsilon):
    """Worked out for five clients: two have value 0, one has value 1, and two have none."""
    encoding, counts, repeats = UnaryEncoding(epsilon), np.array([2, 1, 0]), 20000
    q, rng = float(encoding.q), np.random.default_rng(4)
    laws = [
        np.convolve(binom.pmf(range(n + 1), n, 0.5), binom.pmf(range(6 - n), 5 - n, q))
        for n in counts
    ]
    expected = repeats * np.einsum("i,j,k->ijk", *laws).reshape(-1)
    reports = encoding.perturb(np.tile([0, 0, 1, -1, 7], repeats), 3, rng)
    made = unpacked(reports, 3).reshape(repeats, 5, 3).sum(axis=1, dtype=np.int64)
    simulated = encoding.simulated_totals(counts, 5, rng, repeats)
    for totals in (made, simulated):
        assert fits(np.bincount(totals @ [36, 6, 1], minlength=216), expected)
    one_by_one = np.array([encoding.perturbed_totals(counts, 5, rng, 1) for _ in range(1500)])
    assert fits(np.bincount(one_by_one @ [36, 6, 1], minlength=216), expected * 1500 / repeats)


def test_estimates_are_not_clipped():
    encoding = UnaryEncoding(1)
    estimates = encoding.estimates([[0, 10], [5, 3]], 10)
    assert estimates.shape == (2, 2)
    assert estimates[0, 0] < 0
    assert estimates[0, 1] > 10
    q = float(encoding.q)
    assert np.allclose(estimates, (np.array([[0, 10], [5, 3]]) - 10 * q) / (0.5 - q), rtol=1e-13)
    assert encoding.variance(10) == pytest.approx(10 * q * (1 - q) / (0.5 - q) ** 2, rel=1e-13)
    mixed = (6 * q * (1 - q) + 4 / 4) / (0.5 - q) ** 2
    assert encoding.variance(10, 4) == pytest.approx(mixed, rel=1e-13)


def test_shapes():
    encoding = UnaryEncoding(2.5)
    assert encoding.epsilon == Fraction(5, 2)
    assert encoding == UnaryEncoding(Fraction(5, 2))
    assert encoding.perturb(np.empty(0, np.int64), 65).shape == (0, 2)
    assert encoding.perturb([3, -1], 65).dtype == np.uint64
    assert encoding.perturbed_totals([0, 0], 0).tolist() == [0, 0]
    rng = np.random.default_rng(1)
    assert encoding.simulated_totals([1, 2], 9, rng).shape == (2,)
    assert encoding.simulated_totals([1, 2], 9, rng, 4).shape == (4, 2)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda e: UnaryEncoding(0), dp.ParameterError, "epsilon"),
        (lambda e: UnaryEncoding(41), dp.ParameterError, "epsilon .*got 41"),
        (lambda e: UnaryEncoding(2.0**-21), dp.ParameterError, "epsilon"),
        (lambda e: UnaryEncoding("1"), dp.DtypeError, "epsilon"),
        (lambda e: e.perturb([1], 0), dp.ParameterError, "size"),
        (lambda e: e.perturb([1.0], 3), dp.DtypeError, "values"),
        (lambda e: e.perturb([[1]], 3), dp.ParameterError, "values"),
        (lambda e: e.perturb([1], 3, 7), dp.DtypeError, "rng"),
        (lambda e: e.perturb([1], 3, workers=0), dp.ParameterError, "workers"),
        (lambda e: e.totals(np.zeros((2, 1), int), 3), dp.DtypeError, "reports"),
        (lambda e: e.totals(np.zeros((2, 1), np.uint64), 65), dp.ParameterError, r"\(R, 2\)"),
        (lambda e: e.estimates([0.5], 3), dp.DtypeError, "totals"),
        (lambda e: e.estimates([1], -1), dp.ParameterError, "reports"),
        (lambda e: e.variance(3, 4), dp.ParameterError, "count"),
        (lambda e: e.simulated_totals([1], 3, None), dp.DtypeError, "rng"),
        (lambda e: e.perturbed_totals([1, 3], 3), dp.ParameterError, "reports"),
        (lambda e: e.perturbed_totals([[1]], 3), dp.ParameterError, "counts"),
        (lambda e: e.perturbed_totals([1], 3, 7), dp.DtypeError, "rng"),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call(UnaryEncoding(1))
