"""docs/proofs/function-sharing.md on more than two servers: keys modulo primes, plainly.

Nothing in the library makes such keys; the page says why.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from itertools import combinations, product
from math import log2, prod, sqrt

import pytest

ROWS, COLUMNS = 4, 4
DOMAIN = ROWS * COLUMNS


def coefficients(servers, prime, total):
    """All vectors whose sum is this."""
    every = product(range(prime), repeat=servers)
    return [one for one in every if sum(one) % prime == total]


def expanded(seed, prime):
    """A row of numbers, and one more: of a short seed, and hardly uniform, as this is no secret."""
    digest = hashlib.sha512(seed.to_bytes(16, "little")).digest()
    return [byte % prime for byte in digest[: COLUMNS + 1]]


def keys_of(value, servers, prime, rng):
    """Each server's coefficients and seeds, row by row, and the corrections, the same for all."""
    row, column = divmod(value, COLUMNS)
    seeds = [[rng.getrandbits(128) for _ in range(prime ** (servers - 1))] for _ in range(ROWS)]
    dealt = [coefficients(servers, prime, int(one == row)) for one in range(ROWS)]
    for one in dealt:
        rng.shuffle(one)
    wanted = [int(one >= column) for one in range(COLUMNS)] + [1]
    words = [[rng.randrange(prime) for _ in wanted] for _ in seeds[row][1:]]
    made = [expanded(seed, prime) for seed in seeds[row]]
    totals = [sum(one) for one in zip(*made, *words, strict=True)]
    words.append([(want - total) % prime for want, total in zip(wanted, totals, strict=True)])
    keys = [
        [
            [(c[server], seed if c[server] else None) for c, seed in zip(*pair, strict=True)]
            for pair in zip(dealt, seeds, strict=True)
        ]
        for server in range(servers)
    ]
    return keys, words


def shares(key, words, prime):
    """A server's shares at all thresholds."""
    held, before = [], 0
    for row in key:
        total = [0] * (COLUMNS + 1)
        for (c, seed), word in zip(row, words, strict=True):
            if c:
                made = expanded(seed, prime)
                total = [t + c * (g + w) for t, g, w in zip(total, made, word, strict=True)]
        held += [before + one for one in total[:-1]]
        before += total[-1]
    return held


@pytest.mark.parametrize(("servers", "prime"), [(2, 5), (3, 2), (3, 3), (3, 5), (4, 3)])
def test_all_but_one_of_the_servers_have_the_same_coefficients_in_all_rows(servers, prime):
    for some in combinations(range(servers), servers - 1):
        seen = [
            Counter(tuple(c[i] for i in some) for c in coefficients(servers, prime, total))
            for total in (0, 1)
        ]
        assert seen[0] == seen[1]
        assert seen[1][(0,) * (servers - 1)] == 1  # a seed of the value's row that they do not have


@pytest.mark.parametrize("servers", [3, 4])
def test_counts_are_made_of_what_they_are_modulo_primes(servers):
    rng = random.Random(servers)
    values = [rng.randrange(DOMAIN) for _ in range(20)]
    primes = (2, 3, 5)
    remainders = []
    for prime in primes:
        sums = [0] * DOMAIN
        for value in values:
            keys, words = keys_of(value, servers, prime, rng)
            for key in keys:
                sums = [a + b for a, b in zip(sums, shares(key, words, prime), strict=True)]
        remainders.append([one % prime for one in sums])
    exact = [sum(value <= threshold for value in values) for threshold in range(DOMAIN)]
    of_counts = {tuple(n % prime for prime in primes): n for n in range(prod(primes))}
    assert [of_counts[one] for one in zip(*remainders, strict=True)] == exact


@pytest.mark.parametrize(
    ("primes", "clients", "logarithm"),
    [((2, 3, 5, 7, 11), 1000, 18), ((2, 3, 5, 7, 11, 13, 17, 19), 10**6, 23)],
)
def test_from_where_on_three_servers_keys_are_shorter_than_the_table(primes, clients, logarithm):
    def bits(domain):
        return 3 * sum(2 * q**2 * sqrt(128 * domain * log2(q)) for q in primes)

    assert prod(primes[:-1]) <= clients < prod(primes)
    assert bits(2**logarithm) < 64 * 2**logarithm
    assert bits(2 ** (logarithm - 1)) > 64 * 2 ** (logarithm - 1)
