"""What running curves share: questions about the counts of cells, and a curve from the answers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _check
from ..curves import forms
from ..curves.cdf import CDF
from ..curves.provenance import fresh_identifier
from ..errors import ParameterError
from ..mechanisms.running import AfterSteps, Questions, questions
from ..summaries.grid import Grid
from .base import Change, StreamMechanism
from .stream import State, Stream
from .windows import noise_of

__all__ = ["RunningCurve", "grid_of"]


class RunningCurve(Stream):
    """Cumulative counts of cells, after every step. A subclass makes its results of them."""

    __slots__ = ("_cells", "_classes", "_grid", "_identifier", "_isotonic", "_questions")

    _grid: Grid  # of the records
    _cells: Grid  # of the curve; those of the grid, once for each class
    _classes: int
    _questions: Questions

    def _begin_curve(
        self,
        grid: Grid,
        cells: Grid,
        mechanism: StreamMechanism,
        horizon: int | None,
        window: int | None,
        rng: np.random.Generator | None,
        *,
        isotonic: bool,
    ) -> None:
        """Set up the fields, as ``_begin`` does; the grid has been checked."""
        _check.flag("isotonic", isotonic)
        self._grid, self._cells, self._isotonic = grid, cells, isotonic
        self._classes = cells.size // grid.size
        self._identifier = fresh_identifier()
        is_gaussian = mechanism.budget.rho is not None
        self._questions = questions(cells.size, is_gaussian=is_gaussian, classes=self._classes)
        noises = [
            noise_of(
                mechanism.with_share(part.share),
                horizon,
                window,
                rng,
                width=part.width,
                change=Change(part.amount, apart=True),
            )
            for part in self._questions.parts
        ]
        self._begin(mechanism, horizon, window, noises, simulated=rng is not None)

    @property
    def grid(self) -> Grid:
        """The thresholds."""
        return self._grid

    def _counted(self, argument: str, counts: NDArray[np.int64]) -> Any:
        """Take one step with the counts of the cells, and return what ``_kept`` returns."""
        unit = self._questions.unit
        records, most = int(counts.sum()), self._most() // unit
        if records > most:
            raise ParameterError(argument, "others", f"must have at most {most} records")
        answers = self._questions.ask(counts)[None]
        _, kept = self._advance(argument, answers, np.array([records * unit]), unit)
        return kept

    def _raw(
        self, state: State, outputs: NDArray[np.float64], *, integers: bool | None = None
    ) -> CDF:
        """Return the curve of the last step, before it is made monotone."""
        at = np.array([state.step])
        deviations = [float(noise.deviation(at)[0]) for noise in self._noises]
        counts = self._questions.curve(outputs[-1:], deviations)[0]
        n = max(1, round(float(counts[-1])))
        counts[-1] = n
        budget = self._mechanism.budget.arguments | {"neighbours": "add-or-remove-one"}
        law = AfterSteps(
            **budget, deviations=tuple(deviations), step=state.step, classes=self._classes
        )
        return CDF(
            grid=self._cells,
            counts=counts,
            n=n,
            privacy=replace(self.privacy, neighbours="add-or-remove-one"),
            mechanism=law.describe(),
            noise_deviation=law.noise_deviation(self._cells.size),
            integers=integers,
            releases=() if self.privacy.simulated else (self._identifier,),
        )

    def _more_form(self) -> dict[str, Any]:
        return {
            **super()._more_form(),
            "grid": json.dumps(forms.GRID["dump"](self._grid)),  # a text: it may have real numbers
            "identifier": self._identifier,
            "isotonic": self._isotonic,
        }

    def _take_identifier(self, more: Any) -> None:
        """Go on as the release that was saved."""
        if "identifier" in more:  # files of earlier versions have none
            _check.instance("identifier", more["identifier"], str, "must be a string")
            self._identifier = more["identifier"]


def grid_of(more: Any) -> Grid:
    """Return the grid that ``_more_form`` has written."""
    grid: Grid = forms.GRID["load"]("grid", {"grid": json.loads(more["grid"])})
    return grid
