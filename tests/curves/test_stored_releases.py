"""Stored releases: what is refused, by whoever builds one, and from damaged files."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dpcore as dp

RNG = np.random.default_rng
SEEDED = {"rng": RNG(1)}  # or the names of the tests would differ from one process to another
CURVE = dp.cdf(
    np.linspace(0, 1, 60),
    dp.Grid.uniform(0, 1, 4),
    dp.mechanisms.Dyadic(1.0),
    isotonic=False,
    **SEEDED,
)
ON_A_LOG_GRID = dp.cdf(
    np.linspace(0, 1, 60), dp.Grid.log(0.1, 1, 3), rho=0.5, neighbours="add-or-remove-one", **SEEDED
)
SCORES = dp.score_curves(
    [0, 1] * 30, np.linspace(0, 1, 60), dp.Grid.uniform(0, 1, 3), epsilon=9.0, **SEEDED
)
PROJECTION = dp.project(np.linspace(0, 1, 60), 0, 1, rho=0.5, **SEEDED)
KINDS = {dp.CDF: CURVE, dp.ScoreCurves: SCORES, dp.Projection: PROJECTION}


def changed(text, *path, value):
    """The text with one thing in it replaced."""
    data = at = json.loads(text)
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return json.dumps(data)


CDF, ON_LOG = CURVE.to_json(), ON_A_LOG_GRID.to_json()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a release"),
        (changed(CDF, "format", value="other"), "not a release"),
        (changed(CDF, "version", value=2), "format version 2; this dpcore reads version 1"),
        (CDF.replace('"counts"', '"numbers"'), "without the field 'counts'"),
        (changed(CDF, "counts", value=[1, 2]), r"counts.*4"),
        (changed(CDF, "grid", value={"kind": "thresholds", "thresholds": [2, 1]}), "thresholds"),
        (changed(CDF, "privacy", value={"epsilon": 1}), "privacy"),
        (changed(CDF, "privacy", value=3), "bad field"),
        (changed(CDF, "noise_deviation", value=[[1.0, 10**12]]), "noise_deviation"),
        (changed(CDF, "mechanism", value=[]), "mechanism"),
        (changed(CDF, "processing", value="x"), "processing"),
        (CDF.replace(", 60]", ", NaN]"), "NaN is not a JSON number"),
        (CDF.replace('"version": 1', '"version": true'), "format version True"),
        (CDF.replace('"n": 60', '"n": 60, "n": 60'), "not JSON: a field occurs twice"),
        (CDF.replace('"epsilon": 1.0', '"epsilon": 1e400'), "not JSON: 1e400 is beyond doubles"),
        (CDF.replace('"epsilon": 1.0', '"epsilon": -Infinity'), "-Infinity is not a JSON number"),
        (CDF.replace('"n": 60', '"n": 6e1'), r"\bn\b"),
        (CDF.replace('"upper": 1.0', '"upper": true'), "upper"),
        (changed(CDF, "counts", 0, value=True), "counts"),
        (changed(CDF, "counts", 0, value=2**63), "too large|too big"),
        (changed(CDF, "counts", value=[]), "counts"),
        (changed(CDF, "counts", 3, value=61), "counts must end with n, 60; got 61"),
        (changed(CDF, "mechanism", value={}), "mechanism"),
        (changed(CDF, "mechanism", "base", value=1), "base"),
        (changed(CDF, "mechanism", "base", value=2.0), "base"),
        (changed(CDF, "mechanism", "epsilon", value=True), "mechanism"),
        (changed(CDF, "noise_deviation", value=[[1.0, 5], [1.0, -1]]), "must be runs of 4"),
        (changed(CDF, "noise_deviation", value=[[1.0, 4.0]]), "must be runs of 4"),
        (changed(CDF, "noise_deviation", value=[[1.0, 3]]), "must be runs of 4"),
        (changed(CDF, "noise_deviation", value={"ab": 4}), "must be runs of 4"),
        (changed(CDF, "processing", value=[1]), "processing"),
        (changed(CDF, "privacy", "epsilon", value=None), "epsilon or rho must be given"),
        (changed(CDF, "privacy", "rho", value=None), "epsilon or rho must be given|privacy"),
        (changed(CDF, "privacy", "simulated", value=0), "simulated"),
        (changed(CDF, "grid", "kind", value="linear"), "grid"),
        (changed(CDF, "grid", "size", value=2**24), r"counts.*16777216"),
        (changed(CDF, "grid", value={"kind": "thresholds", "thresholds": [True]}), "thresholds"),
        (changed(CDF, "grid", "note", value=1), "a grid with the unknown field 'note'"),
        (changed(ON_LOG, "grid", "lower", value=0.5), "lower"),
        (changed(ON_LOG, "grid", "lower", value=None), "lower"),
        (changed(CDF, "integers", value=1), "integers"),
        (changed(CDF, "scale", value=1), "a release with the unknown field 'scale'"),
    ],
)
def test_what_the_format_does_not_have_is_refused(text, words):
    with pytest.raises(dp.FormatError, match=words):
        dp.CDF.from_json(text)


PROJECTED = PROJECTION.to_json()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (changed(PROJECTED, "totals", 0, value=True), "totals"),
        (
            changed(PROJECTED, "totals", 0, value=2**300),
            "totals must have at most 256 bits each; got 301",
        ),
        (changed(PROJECTED, "totals", value=[]), "degree"),
        (changed(PROJECTED, "bits", value=65), "bits"),
    ],
)
def test_projections_are_read_as_strictly(text, words):
    with pytest.raises(dp.FormatError, match=words):
        dp.Projection.from_json(text)


def test_scores_have_two_cells_for_each_threshold():
    text = SCORES.to_json()
    for size, words in ((4, r"counts.*8"), (2**24, r"counts.*33554432")):
        with pytest.raises(dp.FormatError, match=words):
            dp.ScoreCurves.from_json(changed(text, "grid", "size", value=size))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [None, 3, ["{}"]])
def test_what_is_no_text(kind, text):
    with pytest.raises(dp.DtypeError, match="text"):
        kind.from_json(text)


def used(released):
    """Use all that can be read off a release."""
    if isinstance(released, dp.Projection):
        released.curve(dp.Grid([released.lower, released.upper])).isotonic()
        released.coefficients(), released.moment_errors(1), released.moments(1)
    else:
        joint = released if isinstance(released, dp.CDF) else released.joint
        curves = [joint, joint.isotonic(), joint.without_negative_counts()]
        if not joint.processing and "base" in joint.mechanism:
            curves.append(joint.smooth())
        else:
            with pytest.raises(dp.ParameterError, match=r"must be raw|must have a noise tree"):
                joint.smooth()
        for curve in curves:
            assert np.all(np.isfinite(curve(curve.thresholds)))
            p = [0.0, 0.5, 1.0]
            steps = curve.quantile(p, method="inverted_cdf")
            assert np.all(np.isin(steps, curve.thresholds))
            # A cell without a whole number counts for the nearest one, which may be above it.
            highest = np.ceil(steps) if joint.integers else steps
            assert np.all(curve.quantile(p) <= highest)
            curve.band(), curve.standard_error(), curve.sample(3, RNG(1))
        assert all(curve.is_monotone for curve in curves[1:])
    assert str(released.privacy)
    assert type(released).from_json(released.to_json()).privacy == released.privacy


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 70),
    st.sampled_from([2**31, 2**53 + 1, 2**63, 2**64, -(2**63), 10**400, 1e300, -1e300, 5e-324]),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["replace-one", "uniform", "thresholds", "dyadic", "isotonic()", "moments"]),
    st.lists(st.one_of(st.integers(-3, 9), st.floats()), max_size=4),
    st.just({}),
)


@st.composite
def damaged(draw):
    """A stored release with things replaced, removed or doubled, or with other characters."""
    released = draw(st.sampled_from([CURVE, ON_A_LOG_GRID, SCORES, PROJECTION]))
    text = released.to_json()
    if draw(st.booleans()):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
        put = draw(st.text(st.sampled_from('0123456789.,:eE-+[]{}" tfn\x00é'), max_size=4))
        return type(released), text[:at] + put + text[at + length :]
    data = json.loads(text)
    if draw(st.booleans()):  # a field as a whole
        data[draw(st.sampled_from(sorted(data)))] = draw(ODD)
    for _ in range(draw(st.integers(0, 2))):
        places, todo = [], [data]
        while todo:
            at = todo.pop()
            keys = list(at) if isinstance(at, dict) else range(len(at))
            places += [(at, key) for key in keys]
            todo += [at[key] for key in keys if isinstance(at[key], dict | list)]
        if not places:
            break
        at, key = draw(st.sampled_from(places))
        change = draw(st.sampled_from(["replaced", "replaced", "removed", "doubled"]))
        if change == "removed":
            del at[key]
        elif change == "doubled" and isinstance(at, list):
            at.insert(key, at[key])
        else:
            at[key] = draw(ODD)
    return type(released), json.dumps(data)


@settings(max_examples=400)
@given(damaged())
@example((dp.CDF, changed(ON_A_LOG_GRID.to_json(), "integers", value=True)))
def test_what_can_be_read_can_be_used(case):
    kind, text = case
    try:
        released = kind.from_json(text)
    except dp.FormatError:
        return
    used(released)


# --- directly built


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"grid": [1, 2, 3, 4]}, "grid"),
        ({"counts": [1, 2, 3, 60]}, "counts"),
        ({"counts": np.array([1, 2, 3, 60], np.int32)}, "float64; got dtype int32"),
        ({"counts": np.ma.array([1.0, 2.0, 3.0, 60.0])}, "counts"),
        ({"counts": np.array([1, 2, 60])}, r"counts must have shape \(4,\); got \(3,\)"),
        ({"counts": np.array([1, 2, 3, 9])}, "counts must end with n, 60; got 9"),
        ({"counts": np.array([1, np.nan, 3, 60])}, "counts"),
        ({"n": 0}, r"\bn\b"),
        ({"n": 60.0}, r"\bn\b"),
        ({"privacy": 1.0}, "privacy"),
        ({"mechanism": "dyadic"}, "mechanism"),
        ({"mechanism": {}}, "mechanism"),
        ({"noise_deviation": 1.0}, "noise_deviation"),
        ({"noise_deviation": np.zeros(5)}, r"noise_deviation must have shape \(4,\)"),
        ({"noise_deviation": np.full(4, np.nan)}, "noise_deviation"),
        ({"noise_deviation": np.full(4, -1.0)}, r"noise_deviation must be 0 or more; got -1\.0"),
        ({"processing": ["isotonic()"]}, "processing"),
        ({"integers": 1}, "integers"),
    ],
)
def test_a_curve_is_checked_whoever_builds_it(change, words):
    with pytest.raises((dp.DtypeError, dp.ParameterError), match=words):
        replace(CURVE, **change)


@pytest.mark.parametrize("thresholds", [[-1e308, 0.0, 1e308], [0.0, 1e150]])
def test_a_curve_over_any_grid_is_read_again(thresholds):
    curve = dp.cdf([1.0, 2.0], dp.Grid(thresholds), epsilon=1.0, rng=RNG(1))
    assert dp.load(curve.to_json()).to_json() == curve.to_json()


def test_scores_and_projections_are_checked_whoever_builds_them():
    for change, words in (
        ({"grid": 3}, "grid"),
        ({"joint": SCORES}, "joint"),
        ({"joint": CURVE}, "joint must have 6 cells, or 7; got 4"),
    ):
        with pytest.raises((dp.DtypeError, dp.ParameterError), match=words):
            replace(SCORES, **change)
    for change, words in (
        ({"totals": [1, 2]}, "totals"),
        ({"totals": (1, 2.5)}, "totals"),
        ({"upper": 0.0}, "upper"),
        ({"n": 0}, r"\bn\b"),
        ({"variance": np.inf}, "variance"),
        ({"variance": -1.0}, "variance"),
        ({"basis": "fourier"}, "basis"),
        ({"privacy": None}, "privacy"),
    ):
        with pytest.raises((dp.DtypeError, dp.ParameterError), match=words):
            replace(PROJECTION, **change)


def test_numbers_of_numpy_are_kept_as_pythons():
    assert type(replace(CURVE, n=np.int64(60)).n) is int
    assert type(replace(PROJECTION, n=np.int64(60), variance=np.float32(1.0)).variance) is float


def test_what_no_text_can_hold_is_not_written():
    for value, words in ((np.int64(3), "int64 as 'a'"), (None, "NoneType"), (np.inf, "finite")):
        curve = replace(CURVE, mechanism={"name": "own", "a": value})
        with pytest.raises((dp.DtypeError, dp.ParameterError), match=words):
            curve.to_json()
