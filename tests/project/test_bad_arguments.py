"""Whatever an argument is, the answer is a result, or an error of dpcore's own that can be shown.

Every argument of every public function in turn is replaced by things of some hundred kinds, or of a
third of them without ``--full``. What is refused costs a budget nothing. With NUMBA_BOUNDSCHECK=1,
a kernel raises an IndexError where it would leave an array.
"""

from __future__ import annotations

import inspect
import zlib

import numba
import numpy as np
import pytest

import dpcore as dp
from tests.project import calls_of_sums  # noqa: F401  # adds its calls
from tests.project.bad_values import BAD
from tests.project.calls import CALLED, CALLS, CURVE, PAID_BEFORE, PROTOCOL, SURVIVAL, TABLE
from tests.project.public_rooms import callables
from tests.project.test_wrong_kinds import BY_HAND

WRONG = BAD | {
    "a tiny number": 1e-13,
    "a tinier number": 1e-300,
    "a small number": 1e-4,
    "a large integer": 2**62,
    "a large count": np.array([2**62]),
    "no records": np.zeros(8, int),
}
REFUSED_BY_ALL = {"a time span", "no date", "pandas' NaT", "a masked element", "a multi-index"}
# Right values that take seconds, and that tests of their functions try.
SLOW = {
    ("suggest", "delta", kind)
    for kind, value in WRONG.items()
    if isinstance(value, float | np.floating) and 0 < value < 1
}
# Whether these are none at all is asked before they are checked.


def other_shapes(value):
    """Return the numbers with an entry less and an entry more on each axis, and an axis more.

    A matrix has two axes whatever is done to it, and says that it is an array.
    """
    if not isinstance(value, np.ndarray | list | tuple):
        return {}
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        return {}
    if array.dtype.kind not in "biuf" or array.size == 0:
        return {}
    others = [array[np.newaxis], array[..., np.newaxis]]
    for axis in range(array.ndim):
        others += [np.delete(array, -1, axis), np.repeat(array, 2, axis)]
        others += [np.concatenate([array, array.take([-1], axis)], axis), array.take([], axis)]
    shapes = {f"of shape {other.shape}": other for other in others}
    if array.ndim <= 2:
        shapes["a matrix"] = np.atleast_2d(array).view(np.matrix)
    return shapes


def by_scikit_learn(name, argument):
    """Whether scikit-learn checks it, whose errors its users know."""
    return argument in ("X", "y") and (
        "linear" in name or "logistic" in name or "Regression" in name
    )


# Interpreted kernels warn where sums wrap.
STRICT = () if numba.config.DISABLE_JIT else ("error::RuntimeWarning",)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore", *STRICT)
def test_any_argument_gives_a_result_or_an_error_that_can_be_shown_and_costs_nothing(
    name, watching, tmp_path, monkeypatch, request
):
    monkeypatch.chdir(tmp_path)  # a text may be the name of a file
    call, arguments = CALLS[name]
    call(**arguments)  # otherwise an error about one of them would hide what others do
    for argument, value in arguments.items():
        is_counted = (name, argument) == ("count", "values")  # records of any type have a number
        foreign = by_scikit_learn(name, argument) or is_counted
        kinds = list((WRONG | other_shapes(value)).items())
        if not request.config.getoption("--full"):  # a third, another one for each argument
            kinds = kinds[zlib.crc32(f"{name} {argument}".encode()) % 3 :: 3]
        for kind, bad in kinds:
            if (name, argument, kind) in SLOW:
                continue
            bad = (i for i in [1]) if kind == "a generator" else bad
            before = len(watching.charged)
            try:
                result = call(**{**arguments, argument: bad})
                assert kind not in REFUSED_BY_ALL or foreign, result
                if type(result).__module__.startswith("dpcore"):
                    assert repr(result)
            except dp.DpcoreError as error:
                assert 0 < len(str(error)) < 1000  # noqa: PT017  # it need not be raised
                assert len(watching.charged) == before or name in PAID_BEFORE
            except Exception as error:
                if not foreign or type(error) not in (TypeError, ValueError):
                    error.add_note(f"{argument} was {kind}")
                    raise
                assert len(watching.charged) == before


@pytest.mark.parametrize("long", [range(2**24 + 1), range(2**62), range(10**400)])
@pytest.mark.parametrize(
    "call",
    [
        dp.Grid,
        CURVE,
        CURVE.quantile,
        CURVE.histogram,
        SURVIVAL.restricted_mean,
        TABLE.conditional_quantiles,
        dp.BoxPlot.from_sample,
        dp.report,
        dp.combine,
        dp.trust.release_sum,
        dp.trust.Client(PROTOCOL).report,
    ],
)
def test_a_range_that_no_memory_holds_is_refused_at_once(call, long):
    with pytest.raises(dp.ParameterError, match=r"hold at most 16777216 items; got a longer range"):
        call(*(["x"] if call == TABLE.conditional_quantiles else []), long)


NOT_CALLED = {
    "interfaces, which dpcore calls with arguments that it has checked": """
        Aggregator Bound.lattice Ball.lattice Box.lattice Simplex.lattice Memory Round
        Protocol.node Protocol.level_size Protocol.counted Protocol.payload_bytes Protocol.is_for
        Protocol.check theorem_errors values for_advice over remembered shared_noise""",
    "raise TypeError or ValueError, where a description is of another version": """
        Mechanism.from_description Hierarchy.from_description""",
    "check nothing, but what takes them does": "PartialSum Interval",
    "options of other libraries": "ROC.display Reliability.display",
}
KNOWN = {name for names in NOT_CALLED.values() for name in names.split()}


def is_known(name, public):
    """Whether a public function, class or method has a call, or there is a reason why not."""
    parameters = inspect.signature(public).parameters
    *_, of, own = name.split(".")
    is_class = inspect.isclass(public)
    return (
        public in CALLED
        or not parameters.keys() - {"self", "cls"}
        or (is_class and (own in BY_HAND or issubclass(public, tuple)))  # tuples hold anything
        or getattr(public, "__isabstractmethod__", False)
        or not KNOWN.isdisjoint({of, own, f"{of}.{own}"})
    )


def test_everything_public_is_called_here():
    public = callables()
    assert len(public) > 300
    assert [name for name, called in public.items() if not is_known(name, called)] == []


SEEDED = [name for name, (_, arguments) in CALLS.items() if "rng" in arguments]
SEEDED.remove("Server")  # which makes no noise


@pytest.mark.parametrize("name", SEEDED)
@pytest.mark.filterwarnings("ignore")
def test_what_a_generator_has_drawn_is_charged_as_simulated(name, watching):
    call, arguments = CALLS[name]
    call(**{**arguments, "rng": np.random.default_rng(1)})
    assert all(privacy.simulated for _, privacy in watching.charged), watching.charged
