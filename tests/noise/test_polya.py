"""Polya shares: the kernel against the plain algorithm, its law against theirs, and their sums."""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, factorial, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import DtypeError, ParameterError
from dpcore.kernels.noise import polya as kernels
from dpcore.noise import DiscreteLaplace, polya, windows
from dpcore.noise.polya import PolyaShares
from dpcore.noise.sources import source
from tests import reference
from tests.noise.test_samplers import laplace_p_value, p_value

THIRD, LARGE = Fraction(1, 3), Fraction(201, 2)
SCALES = [
    THIRD,
    Fraction(1),
    Fraction(15),
    LARGE,
    Fraction(2**32 + 1, 3),
    Fraction(2**53 - 1),
    Fraction(2**53 - 1, 2**40),
    Fraction(1, 2**40),
    Fraction(1, 2**62 + 1),
]
LAW_SCALES = [THIRD, Fraction(1), Fraction(15), LARGE]
MOST_WORD = 2**32 - 1
WEIGHTS = [factorial(12) // factorial(n) for n in range(13)] + [1]


def seeded(seed):
    return source(np.random.default_rng(seed))


def blocks_of(scale):
    """The least J with 2^J >= scale."""
    return next(j for j in range(54) if 2**j >= scale)


# --- the plain algorithm, on any source of choices


class EndError(Exception):
    """There are no more words."""


def until_the_end(words):
    yield from words
    raise EndError


class FromWords:
    """Choices made by a stream of words, as the kernel makes them."""

    def __init__(self, words):
        self.words = until_the_end(words)

    def uniform(self, bound):
        return reference.uniform(self.words, bound)

    def among(self, weights):
        r = self.uniform(sum(weights))
        return next(i for i in range(len(weights)) if r < sum(weights[: i + 1]))

    def below(self, part, whole):
        return self.uniform(whole) < part

    def bit(self):
        return next(self.words) % 2 == 1

    def two_over_e(self):
        return reference.bernoulli_two_over_e(self.words)

    def exponential(self, part, whole):
        periods, rest = divmod(part, whole)
        return all(
            reference.bernoulli_exp_one(self.words) for _ in range(periods)
        ) and reference.bernoulli_exp(self.words, rest, whole)


class ChoiceError(Exception):
    """What was chosen up to now does not say what comes next: its probabilities."""


class Scripted:
    """Choices that were made beforehand, each as a number of its value."""

    def __init__(self, made):
        self.made = list(made)

    def among(self, weights):
        if not self.made:
            raise ChoiceError([Fraction(w, sum(weights)) for w in weights])
        return self.made.pop(0)

    def uniform(self, bound):
        if not self.made and bound > 1000:
            raise ChoiceError([])  # nobody asks for these
        return self.among([1] * bound)

    def below(self, part, whole):
        return self.among([whole - part, part]) == 1

    def bit(self):
        return self.below(1, 2)

    def _real(self, probability):
        if not self.made:
            raise ChoiceError([1 - probability, probability])
        return self.made.pop(0) == 1

    def two_over_e(self):
        return self._real(2 / exp(1))

    def exponential(self, part, whole):
        return self._real(exp(-part / whole))


def law_of(program, least):
    """What a program returns, with its probability: but for paths less likely than ``least``."""
    law, open_paths = {}, [((), Fraction(1))]
    while open_paths:
        path, probability = open_paths.pop()
        try:
            result = program(Scripted(path))
        except ChoiceError as choice:
            options = [((*path, i), probability * p) for i, p in enumerate(choice.args[0])]
            open_paths += [option for option in options if option[1] > least]
        else:
            law[result] = law.get(result, 0) + probability
    return law


def poisson_trial(choose):
    """A number, or None: in proportion to 12! / n!."""
    n = choose.among(WEIGHTS)
    while n > 12:
        if not choose.below(2, n):
            return None
        if not choose.bit():
            return n
        n += 1
    return n


def proposed_size(choose, block, scale):
    """A size, or 0: k in its block with probability exp(-k / s) / k."""
    periods = 0
    if block == blocks_of(scale):
        periods = 1
        while choose.bit():
            periods += 1
        block += periods - 1
        if not all(choose.two_over_e() for _ in range(periods)) or block > 61:
            return 0
    k = 2**block + choose.uniform(2**block)
    if k > 2**62 // scale.denominator or not choose.below(2**block, k):
        return 0
    gamma = k * scale.denominator - periods * scale.numerator
    return k if choose.exponential(gamma, scale.numerator) else 0


def proposal(choose, size, scale):
    """Entry and event."""
    classes = 2 * (blocks_of(scale) + 1)
    entry, rest = divmod(choose.uniform(classes * size), classes)
    k = proposed_size(choose, rest // 2, scale)
    return entry, -k if rest % 2 else k


def plain_shares(choose, size, scale, shape):
    """Sums of events, until the words end; and whether they are complete."""
    mean = 2 * size * (blocks_of(scale) + 1) * shape
    out = [0] * size
    try:
        for unit in range(-(-mean.numerator // mean.denominator)):
            points = None
            while points is None:
                points = poisson_trial(choose)
            for _ in range(points):
                if unit < mean // 1 or choose.below(*(mean % 1).as_integer_ratio()):
                    entry, event = proposal(choose, size, scale)
                    out[entry] += event
    except EndError:
        return out, False
    return out, True


def run(words, out, scale, shape, begun=0, pending=0):
    """The kernel, and whether it is done."""
    mean = 2 * out.size * (blocks_of(scale) + 1) * shape
    full, part = divmod(mean.numerator, mean.denominator)
    begun, pending, used = kernels.add_shares(
        np.array(words, np.uint32),
        out,
        blocks_of(scale),
        np.uint64(scale.numerator),
        np.uint64(scale.denominator),
        full,
        np.uint64(part),
        np.uint64(mean.denominator),
        begun,
        pending,
    )
    return begun, pending, used, pending == 0 and begun == full + (part > 0)


@pytest.mark.parametrize("shape", [Fraction(1), Fraction(1, 10), Fraction(7, 3), Fraction(1, 999)])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_is_the_plain_algorithm_on_the_same_words(scale, shape):
    for seed, length in [(1, 3000), (2, 200), (3, 20), (4, 1)]:
        words = np.random.default_rng(seed).integers(0, 2**32, length, dtype=np.uint32)
        out = np.zeros(7, np.int64)
        done = run(words, out, scale, shape)[3]
        assert (out.tolist(), done) == plain_shares(FromWords(words.tolist()), 7, scale, shape)


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("periods", [1, 2, 5, 30, 61, 62, 63])
def test_sizes_of_far_blocks(scale, periods):
    """The last block, so many periods, each passed; then the largest size there, or any."""
    to_block = [MOST_WORD] * (2 if 2 * (blocks_of(scale) + 1) >= 2**32 else 1)
    bits = [1] * (periods - 1) + [0]
    shape = Fraction(1, 2 * (blocks_of(scale) + 1))  # one proposal on average
    for rest in ([MOST_WORD] * 2 + [0] * 400, [0] * 400, [5, 2**31, 1, MOST_WORD, 3, 8] * 60):
        words = to_block + bits + [MOST_WORD] * periods + rest
        out = np.zeros(1, np.int64)
        _, pending, used, _ = run(words, out, scale, shape, begun=1, pending=1)
        try:
            _, event = proposal(FromWords(words), 1, scale)
        except EndError:
            assert (pending, used) == (1, 0)
        else:
            assert out.tolist() == [event]
            assert pending == 0
            assert abs(event) < 2**62


def test_poisson_one_by_its_tree():
    """All choices enumerated: in proportion to 1 / n!, and a trial almost never fails."""
    law = law_of(poisson_trial, Fraction(1, 10**40))
    assert sum(WEIGHTS[:13]) == 1302061345
    for n in range(23):
        assert law[n] == Fraction(factorial(12), factorial(n)) / sum(WEIGHTS)
    accepted = sum(p for n, p in law.items() if n is not None)
    assert 1 - accepted < 1e-9
    assert float(law[3] / accepted) == pytest.approx(exp(-1) / 6, rel=1e-14)


def poisson_of(words):
    """What the kernel makes of its first words; None if they are too few."""
    begun, pending, used, _ = run(words, np.zeros(1, np.int64), Fraction(15), Fraction(1))
    return (pending, used) if begun else None


@pytest.mark.parametrize("n", range(13))
@pytest.mark.parametrize("off", [-2, -1, 0, 1])
def test_poisson_one_at_its_steps(n, off):
    total = sum(WEIGHTS)
    word = -(-(2**32) * sum(WEIGHTS[:n]) // total) + off
    if 0 <= word < 2**32 and (word * total) % 2**32 >= 2**32 % total:
        r = word * total >> 32
        expected = next(i for i in range(14) if r < sum(WEIGHTS[: i + 1]))
        if expected == 0:  # the next unit follows
            assert poisson_of([word])[0] == 0
        elif expected < 13:
            assert poisson_of([word]) == (expected, 1)
        else:
            assert poisson_of([word]) is None


def test_poisson_one_beyond_twelve():
    total = sum(WEIGHTS)
    last = next(
        word
        for word in range(2**32 - 1, 0, -1)
        if word * total >> 32 == total - 1 and (word * total) % 2**32 >= 2**32 % total
    )
    # 1 makes a uniform number 0, and is a bit; of a number below 13 it is the least word kept
    assert poisson_of([last, 1, 0]) == (13, 3)
    assert poisson_of([last, 1, 1, 1, 2]) == (14, 5)
    assert poisson_of([last, 1, 1, 1, 1, 1, 0]) == (15, 7)
    assert poisson_of([last, 1, 1, 1, 1]) is None
    assert poisson_of([last, MOST_WORD, MOST_WORD // 2]) == (1, 3)  # refused, and begun again
    assert poisson_trial(FromWords([last, 1, 1, 1, 2])) == 14
    assert poisson_trial(FromWords([last, MOST_WORD])) is None


@pytest.mark.parametrize("scale", [THIRD, Fraction(1), Fraction(5, 2), Fraction(7)], ids=str)
def test_sizes_by_their_tree(scale):
    """All choices enumerated: every size of every block has probability exp(-k / s) / k."""
    found = {}
    for block in range(blocks_of(scale) + 1):
        law = law_of(lambda choose, block=block: proposed_size(choose, block, scale), 1e-7)
        for k, p in law.items():
            found[k] = found.get(k, 0) + float(p)
    for k in range(1, max(3, int(4 * scale))):
        assert found[k] == pytest.approx(exp(-k / scale) / k, rel=1e-9)


# --- what the proofs say, in fractions


def negative_binomial_terms(shape, ratio, size):
    """binomial(k - 1 + r, k) a^k, which is P(k) but for (1 - a)^r."""
    terms = [Fraction(1)]
    for k in range(1, size):
        terms.append(terms[-1] * (k - 1 + shape) / k * ratio)
    return terms


@pytest.mark.parametrize("shape", [Fraction(1), Fraction(1, 2), Fraction(1, 1000), Fraction(7, 3)])
def test_negative_binomial_is_compound_poisson(shape):
    """k p_k = r sum_j a^j p_(k - j): the power series of exp(r sum a^k z^k / k)."""
    ratio = Fraction(5, 7)
    terms = negative_binomial_terms(shape, ratio, 30)
    for k in range(1, 30):
        assert k * terms[k] == shape * sum(ratio**j * terms[k - j] for j in range(1, k + 1))
    if shape == 1:
        assert terms == [ratio**k for k in range(30)]


@pytest.mark.parametrize("shares", [1, 2, 10])
def test_shares_add_up_to_a_geometric_variable(shares):
    ratio = Fraction(2, 3)
    one = negative_binomial_terms(Fraction(1, shares), ratio, 12)
    total = [Fraction(1)] + [Fraction(0)] * 11
    for _ in range(shares):
        total = [sum(total[j] * one[k - j] for j in range(k + 1)) for k in range(12)]
    assert total == [ratio**k for k in range(12)]


def acceptance(k, shares):
    """Of a geometric proposal k: product of (j m + 1) / ((j + 1) m), each at most 1."""
    product = Fraction(1)
    for j in range(k):
        product *= Fraction(j * shares + 1, (j + 1) * shares)
    return product


def plain_polya(words, scale, shares):
    """NB(1 / m, a) by rejection.

    P(k) = (1 - a)^r binomial(k - 1 + r, k) a^k, r = 1 / m, and binomial(k - 1 + r, k) is the
    product of (j + r) / (j + 1) over j < k, which is (j m + 1) / ((j + 1) m) <= 1. So a geometric
    variable k, (1 - a) a^k, is kept with that probability. (A geometric variable is the magnitude
    of Algorithm 2 of Canonne, Kamath & Steinke 2020 before it has a sign.)
    """
    while True:
        part = reference.uniform(words, scale.numerator)
        if not reference.bernoulli_exp(words, part, scale.numerator):
            continue
        while reference.bernoulli_exp_one(words):
            part += scale.numerator
        k = part // scale.denominator
        if all(reference.uniform(words, (j + 1) * shares) < j * shares + 1 for j in range(k)):
            return k


@pytest.mark.parametrize("shares", [1, 2, 1000])
def test_rejection_keeps_the_negative_binomial(shares):
    terms = negative_binomial_terms(Fraction(1, shares), Fraction(1, 2), 20)
    assert terms == [acceptance(k, shares) / 2**k for k in range(20)]
    assert acceptance(5, 1) == 1
    assert acceptance(4, 2) == Fraction(comb(8, 4), 4**4)


# --- laws


def law_on(edge, scale, shape):
    """P(-edge), ..., P(edge) of NB(r, a) - NB(r, a), from its characteristic function."""
    size = 2 ** int(np.ceil(np.log2(200 * float(scale) + 4 * edge + 64)))
    a = np.exp(-1 / float(scale))
    angle = 2 * np.pi * np.arange(size) / size
    # |1 - a e^(i t)|^2 = (1 - a)^2 + 2 a (1 - cos t)
    transform = (1 + 4 * a * np.sin(angle / 2) ** 2 / (1 - a) ** 2) ** -float(shape)
    law = np.fft.ifft(transform).real
    return np.r_[law[-edge:], law[: edge + 1]]


def share_p_value(draws, scale, shape):
    edge = int(np.ceil(5 * scale)) + 3
    law = law_on(edge, scale, shape)
    return p_value(draws, edge, lambda y: law[y + edge])


def test_the_law_from_its_transform_is_the_law():
    scale, shape, a = Fraction(2), Fraction(1, 3), exp(-1 / 2)
    terms = np.array(negative_binomial_terms(shape, a, 200), float) * (1 - a) ** float(shape)
    both = np.convolve(terms, terms[::-1])
    assert law_on(20, scale, shape) == pytest.approx(both[199 - 20 : 199 + 21], abs=1e-14)
    expected = reference.discrete_laplace_pmf(np.arange(-20, 21), scale)
    assert law_on(20, scale, 1) == pytest.approx(expected, abs=1e-14)


@pytest.mark.needs_jit
@pytest.mark.parametrize("shares", [1, 2, 10, 1000])
@pytest.mark.parametrize("scale", LAW_SCALES, ids=str)
def test_law_of_a_share(scale, shares):
    draws = np.zeros(60_000 * min(shares, 20), np.int64)
    polya.add_events(draws, scale, Fraction(1, shares), seeded(11))
    assert share_p_value(draws, scale, Fraction(1, shares)) > 1e-6
    assert abs(draws.mean()) < 5 * np.sqrt(PolyaShares(scale, shares).variance / draws.size)


@pytest.mark.needs_jit
def test_law_from_the_cryptographic_source():
    draws = np.empty((300, 2000), np.int64)
    PolyaShares(15, 10).fill(draws, source(None))
    assert share_p_value(draws.reshape(-1), Fraction(15), Fraction(1, 10)) > 1e-9


@pytest.mark.needs_jit
@pytest.mark.parametrize("wrong", [(Fraction(29, 2), 10), (Fraction(15), 11)], ids=str)
def test_the_law_test_would_notice_a_slightly_wrong_law(wrong):
    draws = np.empty(600_000, np.int64)
    PolyaShares(*wrong).fill(draws, seeded(11))
    assert share_p_value(draws, Fraction(15), Fraction(1, 10)) < 1e-6


@pytest.mark.needs_jit
@pytest.mark.parametrize(("scale", "shares"), [(Fraction(3), 2), (THIRD, 5), (Fraction(4), 1)])
def test_law_of_the_plain_rejection_sampler(scale, shares):
    words = iter(np.random.default_rng(5).integers(0, 2**32, 600_000).tolist())
    plain = np.array(
        [plain_polya(words, scale, shares) - plain_polya(words, scale, shares) for _ in range(8000)]
    )
    assert share_p_value(plain, scale, Fraction(1, shares)) > 1e-6


@pytest.mark.needs_jit
@pytest.mark.parametrize("scale", LAW_SCALES, ids=str)
@pytest.mark.parametrize("shares", [2, 10, 1000])
def test_reports_add_up_to_discrete_laplace_noise(scale, shares):
    reports = np.empty((shares, 40_000 // min(shares, 10)), np.int64)
    PolyaShares(scale, shares).fill(reports, seeded(12))
    assert laplace_p_value(reports.sum(axis=0), scale) > 1e-6


@pytest.mark.needs_jit
@pytest.mark.parametrize("count", [1, 6, 9, 10, 13, 20, 25])
def test_sums_of_more_or_fewer_shares_than_needed(count):
    law = PolyaShares(Fraction(7, 2), 10)
    at_once = law.sum_of(count, 60_000, seeded(13))
    assert share_p_value(at_once, law.scale, Fraction(count, 10)) > 1e-6
    one_by_one = np.empty((count, 60_000), np.int64)
    law.fill(one_by_one, seeded(14))
    assert share_p_value(one_by_one.sum(axis=0), law.scale, Fraction(count, 10)) > 1e-6
    assert at_once.var() == pytest.approx(count * law.variance, rel=0.1)


def test_no_shares_make_no_noise():
    law = PolyaShares(15, 4)
    assert law.sum_of(0, 5, seeded(1)).tolist() == [0] * 5
    assert law.sum_of(4, 0, seeded(1)).shape == (0,)
    law.fill(np.empty((3, 0), np.int64), seeded(1))


def test_one_share_is_all_the_noise():
    out, expected = np.empty(50, np.int64), np.empty(50, np.int64)
    PolyaShares(15, 1).fill(out, seeded(2))
    DiscreteLaplace(Fraction(15)).fill(expected, seeded(2))
    assert out.tolist() == expected.tolist()
    assert PolyaShares(15, 1).variance == DiscreteLaplace(Fraction(15)).variance


@pytest.mark.needs_jit
def test_entries_and_signs_are_independent():
    draws = np.empty((200_000, 3), np.int64)
    PolyaShares(1, 2).fill(draws, seeded(15))
    products = draws[:, :2] * draws[:, 1:]
    variance = PolyaShares(1, 2).variance
    assert np.all(np.abs(products.mean(axis=0)) < 5 * variance / np.sqrt(200_000))
    squares = (draws[:, 0] ** 2 - variance) * (draws[:, 1] ** 2 - variance)
    assert abs(squares.mean()) < 5 * squares.std() / np.sqrt(200_000)


# --- windows, streams, ends


@settings(max_examples=60)
@given(
    st.integers(0, 2**32),
    st.sampled_from(SCALES),
    st.sampled_from([Fraction(1), Fraction(1, 9), Fraction(5, 2)]),
    st.lists(st.integers(0, 40), min_size=1, max_size=8),
)
def test_shares_depend_on_the_stream_and_not_on_its_windows(seed, scale, shape, cuts):
    words = np.random.default_rng(seed).integers(0, 2**32, 300, dtype=np.uint32)
    whole, pieces = np.zeros(5, np.int64), np.zeros(5, np.int64)
    expected = run(words, whole, scale, shape)
    start = end = begun = pending = 0
    for cut in [*cuts, 300]:  # ever longer windows, each from where the last proposal ended
        end = min(300, end + cut)
        begun, pending, used, done = run(words[start:end], pieces, scale, shape, begun, pending)
        start += used
    assert pieces.tolist() == whole.tolist()
    assert (begun, pending, start, done) == expected


@pytest.mark.parametrize("count", [1, 3, 10, 24])
def test_python_windows_give_the_same_shares_as_one_long_window(monkeypatch, count):
    law = PolyaShares(Fraction(9, 2), 4 if count < 4 else 100)
    many = law.sum_of(count, 200, seeded(3))
    monkeypatch.setattr(windows, "WINDOW", 5)
    few = law.sum_of(count, 200, seeded(3))
    assert few.tolist() == many.tolist()
    assert np.any(few != 0)


def test_clients_at_once_have_the_law_of_one_vector():
    flat, rows = np.empty(60, np.int64), np.full((3, 4, 5), 99)
    law = PolyaShares(15, 7)
    law.fill(flat, seeded(4))
    law.fill(rows, seeded(4))
    assert rows.reshape(-1).tolist() == flat.tolist()


def test_a_window_without_words_changes_nothing():
    out = np.zeros(4, np.int64)
    assert run([], out, Fraction(15), Fraction(1)) == (0, 0, 0, False)
    assert run([], out, Fraction(15), Fraction(1), 3, 2) == (3, 2, 0, False)
    assert not out.any()


@pytest.mark.parametrize("scale", [Fraction(2**53 - 1), Fraction(15), THIRD], ids=str)
@pytest.mark.parametrize("shares", [1, 1000])
def test_saturation_is_out_of_reach(scale, shares):
    """Chernoff: P(|sum| > t) <= 2 (4 / 3)^r exp(-t / (2 s)), at t = 2^62, for all r allowed."""
    most = int(2**61 * shares / scale)
    bound = log(2) + Fraction(most, shares) * Fraction(log(4 / 3)) - Fraction(2**61) / scale
    assert bound < -180
    with pytest.raises(ParameterError, match=f"count must be between 0 and {most}"):
        PolyaShares(scale, shares).sum_of(most + 1, 1, seeded(1))


def test_moment_generating_function_of_the_chernoff_bound():
    """E exp(|y| / (2 s)) of a shape r is at most (4 / 3)^r on either side."""
    for b in np.linspace(1e-6, 1 - 1e-6, 999):  # b = sqrt(a)
        assert (1 - b**2) ** 2 / ((1 - b) * (1 - b**3)) <= 4 / 3 + 1e-9


@pytest.mark.parametrize("scale", LAW_SCALES, ids=str)
def test_variance_in_closed_form(scale):
    edge = 60 * int(np.ceil(scale)) + 10
    y = np.arange(-edge, edge + 1)
    direct = np.sum(y**2 * law_on(edge, scale, Fraction(1, 10)))
    assert PolyaShares(scale, 10).variance == pytest.approx(direct, rel=1e-7)


# --- errors


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0, 5), ParameterError, "scale must be positive"),
        ((Fraction(2**53), 5), ParameterError, "scale must have"),
        (("a", 5), DtypeError, "scale"),
        ((15, 0), ParameterError, "shares must be between 1 and"),
        ((15, 2**40 + 1), ParameterError, "shares must be between 1 and"),
        ((15, 2.5), DtypeError, "shares 2.5 of type float|shares must be an integer"),
        ((15, True), DtypeError, "shares"),
    ],
)
def test_bad_parameters(arguments, error, words):
    with pytest.raises(error, match=words):
        PolyaShares(*arguments)


@pytest.mark.parametrize(
    ("count", "size", "error", "words"),
    [
        (-1, 5, ParameterError, "count must be between 0"),
        (1.5, 5, DtypeError, "count"),
        (2**62, 5, ParameterError, "count must be between 0"),
        (1, -1, ParameterError, "size must be between 0"),
        (1, 2.0, DtypeError, "size"),
    ],
)
def test_bad_sums(count, size, error, words):
    with pytest.raises(error, match=words):
        PolyaShares(15, 2).sum_of(count, size, seeded(1))


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.zeros(4), DtypeError),
        (np.zeros(4, np.int32), DtypeError),
        ([0, 0], DtypeError),
        (np.zeros((4, 4), np.int64)[:, ::2], ParameterError),
        (np.zeros((4, 4), np.int64).T[:2], ParameterError),
    ],
)
def test_what_cannot_be_filled(out, error):
    with pytest.raises(error, match="out must be"):
        PolyaShares(15, 2).fill(out, seeded(1))


def test_a_float_is_the_fraction_it_is():
    assert PolyaShares(0.5, 3) == PolyaShares(Fraction(1, 2), 3)
    assert isinstance(PolyaShares(15, np.int64(3)).shares, int)
