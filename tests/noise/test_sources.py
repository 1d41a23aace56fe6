"""Sources whose key is their memory: the same words again, and other ones under another key."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dpcore.errors import DtypeError, ParameterError
from dpcore.noise.laws import DiscreteLaplace
from dpcore.noise.sources import CryptographicSource, KeyedSource

KEY = bytes(range(32))


def words(source, *sizes):
    parts = [np.empty(size, np.uint64) for size in sizes]
    for part in parts:
        source.fill(part)
    return np.concatenate(parts)


def test_words_are_those_of_aes_256_in_counter_mode_from_zero():
    stream = Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encryptor()
    expected = np.frombuffer(stream.update(bytes(8 * 70_000)), "<u8")
    np.testing.assert_array_equal(words(KeyedSource(KEY), 70_000), expected)


def test_words_do_not_depend_on_how_they_are_read():
    whole = words(KeyedSource(KEY), 40_000)
    np.testing.assert_array_equal(words(KeyedSource(KEY), 1, 39_998, 1), whole)


def test_the_same_key_draws_the_same_noise_and_another_key_other_noise():
    first, again, other = np.empty((3, 100), np.int64)
    for out, key in ((first, KEY), (again, KEY), (other, bytes(32))):
        DiscreteLaplace(9).fill(out, KeyedSource(key))
    np.testing.assert_array_equal(first, again)
    assert np.mean(first == other) < 0.3


def test_spawned_sources_are_the_same_again_and_differ_from_each_other():
    source = KeyedSource(KEY)
    children = [*source.spawn(2), *source.spawn(1)]
    found = [tuple(words(each, 4)) for each in [*children, source, *children[0].spawn(1)]]
    assert len(set(found)) == 5
    again = [tuple(words(each, 4)) for each in KeyedSource(KEY).spawn(3)]
    assert again == found[:3]
    key = hmac.digest(KEY, b"dpcore source" + (2).to_bytes(8, "little"), hashlib.sha256)
    assert found[2] == tuple(words(KeyedSource(key), 4))


@pytest.mark.parametrize("simulated", [False, True])
def test_whether_it_is_simulated_is_handed_on(simulated):
    source = KeyedSource(KEY, simulated=simulated)
    assert source.simulated is simulated
    assert source.spawn(1)[0].simulated is simulated


@pytest.mark.parametrize("key", [None, "k" * 32, bytearray(32), 7])
def test_keys_that_are_no_bytes_are_refused(key):
    with pytest.raises(DtypeError, match="key"):
        KeyedSource(key)


def test_keys_of_another_length_are_refused_and_not_shown():
    with pytest.raises(ParameterError, match="key") as error:
        KeyedSource(b"secret")
    assert "secret" not in repr(vars(error.value))


def test_cryptographic_streams_differ_and_look_uniform():
    first, second = (np.zeros(2**15 + 7, np.uint64) for _ in range(2))
    source = CryptographicSource()
    source.fill(first)
    source.spawn(1)[0].fill(second)
    assert np.unique(np.r_[first, second]).size == 2 * (2**15 + 7)
    ones = np.unpackbits(first.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 8 * 0.5 / np.sqrt(64 * first.size)
