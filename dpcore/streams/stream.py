"""The life of a stream: steps that are taken one call at a time, and a state that is saved once."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from .. import _check
from .._process import Owner
from ..curves.shown import cost, line
from ..errors import DpcoreError, DtypeError, FormatError, ParameterError
from ..privacy.guarantees import Privacy
from ..privacy.spending import Account, unwatched
from ..records.files import FileError
from . import saved
from .base import MOST_STEPS, StreamMechanism, StreamNoise, from_form, known_horizon, to_form
from .windows import checked_window

__all__ = ["CounterBusyError", "CounterClosedError", "State", "Stream"]

# Noise is larger than 2^56 with probability exp(-500), so 64 bits are enough.
_MOST_COUNT: Final = 2**60
_WITHOUT_HORIZON: Final = 2**55  # over the step; of 2^32 steps these are less than 2^60 in all
_STEPS_AT_ONCE: Final = 2**14  # bounds the memory of a call that takes many steps


class CounterClosedError(DpcoreError, RuntimeError):
    """A stream was saved, or belongs to another process, and takes no more steps."""


class CounterBusyError(DpcoreError, RuntimeError):
    """A signal handler called a stream whose call it had interrupted, in the same thread.

    To wait would take forever, and a step within a step would use the same noise twice.
    """


class State(NamedTuple):
    """The whole changing state, so that a step is taken or not. All but ``step`` is secret."""

    step: int
    sums: NDArray[np.int64]  # (W,) exact; with a window, modulo 2^64
    noise: tuple[Any, ...]  # of each ``StreamNoise``
    more: Any = None  # what a kind of stream keeps of its outputs, which are released


class Stream(ABC):
    """Counters that run together, with noise in their sums after each step.

    A subclass says what a step is, and what its outputs are. All calls take turns; a call has
    either taken its steps or not; the state is used once, in one process.

    Attributes
    ----------
    kind
        The name in saved files.
    """

    kind: ClassVar[str]

    __slots__ = (
        "_account",
        "_horizon",
        "_is_busy",
        "_lock",
        "_mechanism",
        "_noises",
        "_owner",
        "_privacy",
        "_saved_to",
        "_state",
        "_window",
    )

    def _begin(
        self,
        mechanism: StreamMechanism,
        horizon: int | None,
        window: int | None,
        noises: Sequence[StreamNoise],
        *,
        simulated: bool,
    ) -> None:
        """Set up the fields, and charge the budgets that watch; everything has been checked."""
        self._mechanism, self._noises = mechanism, tuple(noises)
        self._horizon, self._window = known_horizon(horizon), checked_window(window)
        self._privacy = replace(mechanism.privacy, simulated=simulated)
        self._account = Account(self.privacy, type(self).__name__)  # pays for all steps once
        sums = np.zeros(sum(noise.width for noise in noises), np.int64)
        self._state = State(0, sums, tuple(noise.start() for noise in noises))
        # A thread that holds the lock gets an error instead of waiting for itself.
        self._lock = threading.RLock()
        self._is_busy = False
        self._owner = Owner()
        self._saved_to: Path | None = None

    @property
    def step(self) -> int:
        """The number of steps that have been taken."""
        return self._state.step

    @property
    def horizon(self) -> int | None:
        """The largest number of steps, or None if it is not known."""
        return self._horizon

    @property
    def window(self) -> int | None:
        """The number of last steps that count, or None if all do."""
        return self._window

    @property
    def mechanism(self) -> StreamMechanism:
        """The mechanism."""
        return self._mechanism

    @property
    def privacy(self) -> Privacy:
        """The guarantee of all steps together, whether they are taken or not.

        "replace-one": one record comes at another step, or never, or in addition.
        """
        return self._privacy

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a new file, and close this stream.

        The file holds exact counts and secret noise. Only its owner may read it, and nobody must
        copy it (docs/proofs/streams.md, section 4). ``resume`` continues from it.

        Raises
        ------
        CounterBusyError
            A signal handler made this call, and has interrupted another call.
        CounterClosedError
            The stream has been saved before, or this is a forked copy.
        FileError
            The file exists already, or cannot be written. Then the stream is still open. Or the
            file is written, but might not survive a power failure. Then the stream is closed.
        DtypeError, ParameterError
            ``path`` is not a path, or the study's generator is not one of NumPy's.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from dpcore.streams import RunningCount
        >>> visitors = RunningCount(horizon=30, epsilon=1.0, rng=np.random.default_rng(1))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     before = visitors.extend([112, 98])
        ...     visitors.save(Path(folder) / "visitors")
        ...     again = RunningCount.resume(Path(folder) / "visitors")
        >>> again.step, again.horizon
        (2, 30)
        """
        target = _path(path)
        self._check_here()
        with self._lock:
            self._check_open()
            attempt = saved.Attempt()
            try:
                self._is_busy = True
                content = saved.dump(self._fields())
                self._saved_to = target  # set before anybody can resume it
                saved.put(target, content, attempt)
            except BaseException:
                if not attempt.published:
                    self._saved_to = None
                raise
            finally:
                self._is_busy = False

    @classmethod
    def resume(cls, path: str | os.PathLike[str]) -> Self:
        """Continue from a saved state, and remove its file, so that it is resumed only once.

        Raises
        ------
        FileError
            The file does not exist (any more), or cannot be read and removed.
        FormatError
            The file is not a saved stream of this class, or is damaged. It stays where it was.
        DtypeError
            ``path`` is not a path.

        Notes
        -----
        A release continues with a fresh cryptographic source, a study with its generator.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from dpcore.streams import RunningCount
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     RunningCount(horizon=30, epsilon=1.0).save(Path(folder) / "visitors")
        ...     visitors = RunningCount.resume(Path(folder) / "visitors")
        >>> visitors.horizon, visitors.step
        (30, 0)
        """
        target = _path(path)
        content = saved.read(target)
        fields = saved.load(content)
        if fields.get("kind") != cls.kind:
            raise FormatError(f"not a saved {cls.kind}: it is another kind of stream")
        try:
            stream = cls._restored(fields)
        except FormatError:
            raise
        except (DpcoreError, ArithmeticError, LookupError, TypeError, ValueError):
            raise FormatError("a saved stream with a missing or contradictory field") from None
        saved.claim(target, content)
        return stream

    def __repr__(self) -> str:
        steps = f"step {self.step}" + ("" if self._horizon is None else f" of {self._horizon}")
        last = "" if self._window is None else f", the last {self._window}"
        return line(type(self).__name__, f"{steps}{last}, {cost(self.privacy)}")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DtypeError(
            "counter", type(self).__name__, "must not be copied or pickled: save and resume it"
        )

    def _most(self, step: int = 1) -> int:
        """Return the largest increment of one counter at a step, whatever has been counted.

        It is the same at all steps of a known horizon or a window, and otherwise largest at the
        first step.
        """
        most = min(noise.most_increment for noise in self._noises)
        if known := [steps for steps in (self._horizon, self._window) if steps is not None]:
            return min(most, _MOST_COUNT // min(known))
        return min(most, max(_MOST_COUNT // MOST_STEPS, _WITHOUT_HORIZON // step))

    def _check_largest(self, argument: str, largest: NDArray[np.int64], unit: int) -> None:
        """Refuse increments that are too large for their steps, which come next."""
        last = self._state.step + largest.size
        if largest.max(initial=0) <= self._most(last):  # the least of all
            return
        most = [self._most(step) for step in range(self._state.step + 1, last + 1)]
        if np.any(largest > np.array(most)):
            always = self._most(MOST_STEPS) // unit
            what = f"must be at most {self._most() // unit} / step, or {always} if this is more"
            raise ParameterError(argument, "others", what)

    @classmethod
    @abstractmethod
    def _made_again(cls, mechanism: StreamMechanism, horizon: int | None, more: Any) -> Self:
        """Return a new stream with the arguments of a saved one; raise what the class raises."""

    def _more_form(self) -> dict[str, Any]:
        """Return what ``_made_again`` takes, in integers, strings, lists and objects."""
        return {} if self._window is None else {"window": self._window}

    def _check_here(self) -> None:
        if not self._owner.is_here:
            raise CounterClosedError(
                f"this stream belongs to process {self._owner.process}: a copy of it made "
                "by a fork would use the same noise again"
            )

    def _check_open(self) -> None:
        if self._is_busy:
            raise CounterBusyError(
                "this call has interrupted another call of the same stream, as signal "
                "handlers do: note the records there, and count them afterwards"
            )
        if self._saved_to is not None:
            raise CounterClosedError(
                f"this stream was saved to {str(self._saved_to)!r}: resume it from there"
            )

    def _advance(
        self,
        argument: str,
        increments: NDArray[np.int64],
        largest: NDArray[np.int64],
        unit: int = 1,
    ) -> tuple[NDArray[np.float64], Any]:
        """Take the steps of some increments, (K, W), and return the noisy sums after each.

        ``largest``, (K,), are bounds on the increments of each step, of ``unit`` for a record. The
        second is what ``_kept`` has made of them, before any other call.
        """
        self._check_here()
        with self._lock:
            self._check_open()
            try:
                # Set before the state is read, because an interrupt could change the state.
                self._is_busy = True
                state = self._state
                left = (self._horizon or MOST_STEPS) - state.step
                steps = increments.shape[0]
                if steps > left:
                    what = f"must stay within the horizon: {left} steps are left"
                    raise ParameterError(argument, f"{steps} more", what)
                self._check_largest(argument, largest, unit)
                outputs = np.empty(increments.shape)
                if steps > 0:
                    self._account.spend(self.privacy)  # to budgets that watch only now
                for start in range(0, steps, _STEPS_AT_ONCE):
                    part = slice(start, start + _STEPS_AT_ONCE)
                    state = self._taken(increments[part], outputs[part], state)
                kept = self._kept(state, outputs)
                self._state = state._replace(more=kept)
                return outputs, kept
            finally:
                self._is_busy = False

    def _taken(
        self, increments: NDArray[np.int64], outputs: NDArray[np.float64], state: State
    ) -> State:
        """Overwrite the outputs of some steps, and return the state after them."""
        left, after = 0, []
        for noise, held in zip(self._noises, state.noise, strict=True):
            columns = slice(left, left + noise.width)
            outputs[:, columns], held = noise.outputs(
                increments[:, columns], state.sums[columns], state.step, held
            )
            after.append(held)
            left += noise.width
        sums = state.sums + increments.sum(axis=0)
        return State(state.step + increments.shape[0], sums, tuple(after), state.more)

    def _kept(self, state: State, outputs: NDArray[np.float64]) -> Any:
        """Return what this kind of stream keeps after these outputs."""
        return state.more

    def _fields(self) -> dict[str, Any]:
        state = self._state
        return {
            "kind": self.kind,
            "horizon": self._horizon,
            "mechanism": to_form(self._mechanism),
            "step": state.step,
            "sums": state.sums.tolist(),
            "noise": [n.describe(held) for n, held in zip(self._noises, state.noise, strict=True)],
            "more": self._more_form(),
        }

    @classmethod
    def _restored(cls, fields: dict[str, Any]) -> Self:
        """Return the stream. Errors quote nothing of ``fields``."""
        _check.instance("more", fields["more"], dict, "must be an object")
        with unwatched():  # the next step is charged, and only if nothing is wrong here
            stream = cls._made_again(
                from_form(fields["mechanism"]), fields["horizon"], fields["more"]
            )
        step = _check.integer("step", fields["step"], 0, stream._horizon or MOST_STEPS)
        least, most = 0, min(step * stream._most(), 2 * _MOST_COUNT)
        if stream._window is not None:  # they go on beyond the window, modulo 2^64
            least, most = -(2**63), 2**63 - 1
        sums = np.array([_check.integer("sums", v, least, most) for v in fields["sums"]], np.int64)
        if sums.shape != stream._state.sums.shape or len(fields["noise"]) != len(stream._noises):
            raise FormatError("a saved stream with another number of counters")
        again = [
            noise.restored(step, stored)
            for noise, stored in zip(stream._noises, fields["noise"], strict=True)
        ]
        stream._noises = tuple(noise for noise, _ in again)
        simulated = {noise.is_simulated for noise in stream._noises}
        if len(simulated) != 1:
            raise FormatError("a saved stream whose noise is both of a study and of a release")
        stream._privacy = replace(stream._privacy, simulated=simulated.pop())
        held = tuple(held for _, held in again)
        stream._state = State(step, sums, held, stream._state.more)
        return stream


def _path(path: str | os.PathLike[str]) -> Path:
    """Return the real path of a file: a link to it can be neither claimed nor made."""
    _check.instance("path", path, str | os.PathLike, "must be a path")
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, or a null character
        raise FileError(str(path), f"is not a path: {error}") from None
