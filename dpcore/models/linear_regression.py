"""Linear regression with differential privacy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import base
from sklearn.utils import validation

from .. import _check
from .._documentation import documented
from ..privacy.guarantees import Privacy
from ..privacy.spending import spending
from ..records.column import Column
from .fitting import Floats, checked_budget, checked_features, numbers, raw_features, target
from .losses import Squares
from .moments import by_moments, checked_law, least_squares
from .perturbation import by_output
from .scaling import Bounds, side_of_cube, unit_records

__all__ = ["LinearRegression"]

Method = Literal["moments", "output"]


@documented
class LinearRegression(base.RegressorMixin, base.BaseEstimator):  # type: ignore[misc]
    """Linear regression by penalised least squares, fitted with differential privacy.

    Neighbours: one record replaced, its features and its response. n is public.

    Parameters
    ----------
    epsilon
        {epsilon}
    x_bounds
        The public bounds (lower, upper) of features: numbers, or (d,) arrays with one number for
        each feature. ``fit`` clips values beyond them. Bounds must not come from the data, so they
        have no default.
    y_bounds
        The public bounds (lower, upper) of responses.
    method
        "moments": least squares from noisy sums of products, by far the more accurate method.
        "output": noise in the minimum.
    alpha
        The penalty, as in scikit-learn's ``Ridge``: alpha |w|^2 is added to the sum of squares. In
        the paper's terms, lambda = alpha / n. It applies to features that are scaled from their
        bounds to [-1, 1] (for "output", to [-1, 1] / sqrt(d + 1)), and to the intercept as one more
        feature. The noise of "output" falls as alpha grows: some hundredths of n are a good start.
    fit_intercept
        Whether the model has a constant.
    rng
        {rng}

    Attributes
    ----------
    coef_ : numpy.ndarray
        (d,) the coefficients, for features and responses in their own units.
    intercept_ : float
        The constant.
    n_features_in_ : int
        The number of features, d.
    feature_names_in_ : numpy.ndarray
        (d,) the names of the columns, if X has names that are strings.
    privacy_ : Privacy
        The guarantee of the fit.

    Raises
    ------
    MissingExtraError
        scikit-learn is not installed.

    Notes
    -----
    Only ``fit`` is private. Scores and predictions of private records reveal these records.

    docs/proofs/models.md has the proofs. O(n d^2).

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(0, 10, (5_000, 2))
    >>> y = X @ [1.0, 2.0] + rng.normal(0, 1, 5_000)
    >>> model = dp.models.LinearRegression(1.0, x_bounds=(0, 10), y_bounds=(0, 30), rng=rng)
    >>> model.fit(X, y).coef_.round(1)
    array([0.9, 2. ])
    >>> round(model.score(X, y), 2)
    0.98
    """

    def __init__(
        self,
        epsilon: float | Fraction,
        *,
        x_bounds: tuple[ArrayLike, ArrayLike] | None = None,
        y_bounds: tuple[float, float] | None = None,
        method: Method = "moments",
        alpha: float = 1.0,
        fit_intercept: bool = True,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.x_bounds = x_bounds
        self.y_bounds = y_bounds
        self.method = method
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.rng = rng

    @np.errstate(under="ignore")  # of numbers near 0: an error would tell of a record
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model, and spend epsilon.

        Parameters
        ----------
        X
            (n, d) real numbers, without NaN. If X and y are of pandas, they have one index.
        y
            (n,) real numbers, without NaN.

        Returns
        -------
        LinearRegression
            The estimator itself.

        Raises
        ------
        DtypeError, ParameterError, MissingValueError, ValueError
            A parameter or an argument is not as above. The error comes before anything is spent.
            Errors do not depend on values of records, except missing values.

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> X = rng.uniform(0, 10, (5_000, 1))
        >>> y = 3 * X[:, 0] + 5
        >>> model = dp.models.LinearRegression(1.0, x_bounds=(0, 10), y_bounds=(0, 40), rng=rng)
        >>> fitted = model.fit(X, y)
        >>> fitted.coef_.round(1), round(fitted.intercept_), fitted.privacy_.epsilon
        (array([3.]), 5, 1.0)
        """
        budget, stream, privacy = checked_budget(self.epsilon, self.rng, self.fit_intercept)
        _check.choice("method", self.method, Method)
        alpha = _check.positive("alpha", self.alpha)
        features = checked_features(self, X)
        has_constant = bool(self.fit_intercept)
        if self.method == "moments":
            checked_law(features.shape[1], has_constant, budget)
        of_features = Bounds.checked("x_bounds", self.x_bounds, features.shape[1], has_constant)
        of_responses = Bounds.checked("y_bounds", self.y_bounds, 1, has_constant)
        Column.of(X, "X").check_index(Column.of(y, "y"))
        responses = of_responses.scaled(numbers("y", target(y))[:, None])[0]
        validation.check_consistent_length(features, responses)
        scaled = of_features.scaled(features)
        with spending(privacy, "LinearRegression.fit"):
            if self.method == "moments":
                inner = by_moments(scaled, responses, has_constant, alpha, budget, stream)
            else:
                records, penalty = unit_records(scaled, has_constant), alpha / responses.size
                inner = by_output(records, Squares(responses), penalty, budget, stream)
                inner *= side_of_cube(inner.size)
        self._keep(inner, of_features, of_responses, privacy)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the expected responses, (n,), for X (n, d).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> X = rng.uniform(0, 10, (5_000, 1))
        >>> y = 3 * X[:, 0] + 5
        >>> model = dp.models.LinearRegression(1.0, x_bounds=(0, 10), y_bounds=(0, 40), rng=rng)
        >>> model.fit(X, y).predict([[2.0], [4.0]]).round()
        array([11., 17.])
        """
        responses: Floats = raw_features(self, X) @ self.coef_ + self.intercept_
        return responses

    def _keep(
        self, inner: Floats, of_features: Bounds, of_responses: Bounds, privacy: Privacy
    ) -> None:
        """Keep a model for scaled values, as one for raw values."""
        slopes, intercept = of_features.unscaled(inner)
        reach, middle = float(of_responses.reach[0]), float(of_responses.middle[0])
        self.coef_, self.intercept_ = reach * slopes, reach * intercept + middle
        self.privacy_ = privacy

    @classmethod
    def _of_sums(
        cls,
        noisy: Floats,
        n: int,
        deviation: float,
        of_features: Bounds,
        of_responses: Bounds,
        privacy: Privacy,
        **parameters: Any,
    ) -> Self:
        """Return the model of released sums of products, which are as in ``least_squares``."""
        x_bounds = of_features.lower, of_features.upper
        y_bounds = float(of_responses.lower[0]), float(of_responses.upper[0])
        epsilon: Any = privacy.epsilon  # None, with rho
        model = cls(epsilon, x_bounds=x_bounds, y_bounds=y_bounds, **parameters)
        model.n_features_in_ = of_features.reach.size
        inner = least_squares(noisy, n, model.alpha, deviation)
        model._keep(inner, of_features, of_responses, privacy)
        return model
