"""Logistic regression with differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit
from sklearn import base
from sklearn.utils import validation

from .. import _check
from .._documentation import documented
from ..errors import DtypeError, MissingValueError, ParameterError
from ..privacy.spending import spending
from ..records.column import Column
from ..records.labels import Label, positives
from .fitting import Floats, checked_budget, checked_features, raw_features, target
from .losses import Logistic
from .perturbation import by_objective, by_output
from .scaling import Bounds, side_of_cube, unit_records

__all__ = ["LogisticRegression"]

Method = Literal["objective", "output"]

_MOST_LABEL: Final = 2**53  # in a list, other labels may turn a label into a double
_KINDS: Final = (bool | int | float | np.bool_ | np.integer | np.floating, str, bytes)


@documented
class LogisticRegression(base.ClassifierMixin, base.BaseEstimator):  # type: ignore[misc]
    """Logistic regression of two classes, fitted with differential privacy.

    Neighbours: one record replaced, its features and its label. n is public.

    Parameters
    ----------
    epsilon
        {epsilon}
    x_bounds
        The public bounds (lower, upper) of features: numbers, or (d,) arrays with one number for
        each feature. ``fit`` clips values beyond them. Bounds must not come from the data, so they
        have no default.
    classes
        The public labels of negatives and positives, in this order. All other labels count as
        negative, because an error would reveal that somebody has one.
    method
        "objective": noise in the objective, the more accurate method. "output": noise in the
        minimum.
    C
        The inverse of the penalty, as in scikit-learn. In the paper's terms, lambda = 1 / (n C). It
        applies to features that are scaled from their bounds to [-1, 1] / sqrt(d + 1), and to the
        intercept as one more feature. The noise of "output" grows in proportion to C, and does not
        fall with n.
    fit_intercept
        Whether the model has a constant.
    rng
        {rng}

    Attributes
    ----------
    coef_ : numpy.ndarray
        (1, d) the coefficients, for features in their own units.
    intercept_ : numpy.ndarray
        (1,) the constant.
    classes_ : numpy.ndarray
        (2,) the labels of negatives and positives, from ``classes``.
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

    The methods are those of Chaudhuri, Monteleoni & Sarwate, *Differentially private empirical risk
    minimization* (JMLR 12, 2011). docs/proofs/models.md has a proof that also covers floating
    point. Each step of the solver is O(n d^2), and about ten steps are usual.

    Examples
    --------
    >>> import numpy as np
    >>> import dpcore as dp
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(0, 10, (5_000, 2))
    >>> y = X[:, 0] + rng.normal(0, 1, 5_000) > 5
    >>> model = dp.models.LogisticRegression(1.0, x_bounds=(0, 10), rng=rng).fit(X, y)
    >>> round(model.score(X, y), 1), model.privacy_.epsilon
    (0.9, 1.0)
    """

    def __init__(
        self,
        epsilon: float | Fraction,
        *,
        x_bounds: tuple[ArrayLike, ArrayLike] | None = None,
        classes: tuple[Label, Label] = (0, 1),
        method: Method = "objective",
        C: float = 1.0,
        fit_intercept: bool = True,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.x_bounds = x_bounds
        self.classes = classes
        self.method = method
        self.C = C
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
            (n,) labels, of the kind of ``classes``.

        Returns
        -------
        LogisticRegression
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
        >>> y = X[:, 0] + rng.normal(0, 1, 5_000) > 5
        >>> model = dp.models.LogisticRegression(1.0, x_bounds=(0, 10), rng=rng).fit(X, y)
        >>> round(-model.intercept_[0] / model.coef_[0, 0])  # here both classes are equally likely
        5
        """
        budget, stream, privacy = checked_budget(self.epsilon, self.rng, self.fit_intercept)
        _check.choice("method", self.method, Method)
        inverse = _check.positive("C", self.C)
        negative, positive = _checked_classes(self.classes)
        features = checked_features(self, X)
        has_constant = bool(self.fit_intercept)
        bounds = Bounds.checked("x_bounds", self.x_bounds, features.shape[1], has_constant)
        Column.of(X, "X").check_index(Column.of(y, "y"))
        signs = np.where(_is_positive(y, positive), 1.0, -1.0)
        validation.check_consistent_length(features, signs)
        records = unit_records(bounds.scaled(features), has_constant)
        records *= signs
        penalty = 1.0 / (signs.size * inverse)
        if math.isinf(penalty):
            raise ParameterError("C", self.C, "must be larger: the penalty is beyond doubles")
        with spending(privacy, "LogisticRegression.fit"):
            if self.method == "objective":
                w = by_objective(records, penalty, budget, stream)
            else:
                w = by_output(records, Logistic(), penalty, budget, stream)
        slopes, intercept = bounds.unscaled(w * side_of_cube(w.size))
        self.coef_, self.intercept_ = slopes[None, :], np.array([intercept])
        self.classes_ = np.array([negative, positive])
        self.privacy_ = privacy
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of the positive class, (n,), for X (n, d).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> X = rng.uniform(0, 10, (5_000, 1))
        >>> y = X[:, 0] + rng.normal(0, 1, 5_000) > 5
        >>> model = dp.models.LogisticRegression(1.0, x_bounds=(0, 10), rng=rng).fit(X, y)
        >>> model.decision_function([[2.0], [8.0]]).round(1)
        array([-4.6,  4.5])
        """
        log_odds: Floats = raw_features(self, X) @ self.coef_[0] + self.intercept_[0]
        return log_odds

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likelier class, (n,), for X (n, d).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> X = rng.uniform(0, 10, (5_000, 1))
        >>> y = X[:, 0] + rng.normal(0, 1, 5_000) > 5
        >>> model = dp.models.LogisticRegression(1.0, x_bounds=(0, 10), rng=rng).fit(X, y)
        >>> model.predict([[2.0], [8.0]])
        array([0, 1])
        """
        is_positive = self.decision_function(X) > 0.0
        labels: NDArray[Any] = self.classes_[is_positive.astype(int)]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of both classes, (n, 2), for X (n, d).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> X = rng.uniform(0, 10, (5_000, 1))
        >>> y = X[:, 0] + rng.normal(0, 1, 5_000) > 5
        >>> model = dp.models.LogisticRegression(1.0, x_bounds=(0, 10), rng=rng).fit(X, y)
        >>> model.predict_proba([[2.0], [8.0]]).round(2)
        array([[0.99, 0.01],
               [0.01, 0.99]])
        """
        odds = self.decision_function(X)
        return expit(np.column_stack([-odds, odds]))  # type: ignore[no-any-return]

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the probabilities of both classes, (n, 2), for X (n, d).

        Examples
        --------
        >>> import numpy as np
        >>> import dpcore as dp
        >>> rng = np.random.default_rng(1)
        >>> X = rng.uniform(0, 10, (5_000, 1))
        >>> y = X[:, 0] + rng.normal(0, 1, 5_000) > 5
        >>> model = dp.models.LogisticRegression(1.0, x_bounds=(0, 10), rng=rng).fit(X, y)
        >>> model.predict_log_proba([[2.0], [5.0]])[:, 1].round(1)  # of positives
        array([-4.7, -0.7])
        """
        odds = self.decision_function(X)
        return log_expit(np.column_stack([-odds, odds]))  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _checked_classes(classes: object) -> tuple[Label, Label]:
    """Return two different labels of one kind."""
    requirement = "must be the labels of negatives and positives, in this order"
    pair = _check.in_order("classes", classes, requirement)
    if len(pair) != 2:
        raise ParameterError("classes", classes, "must be two labels, of negatives and positives")
    kinds = [next((kind for kind in _KINDS if isinstance(label, kind)), None) for label in pair]
    if None in kinds or kinds[0] != kinds[1]:
        raise DtypeError("classes", classes, "must be numbers, strings or bytes, both of one kind")
    if pair[0] == pair[1] or any(label != label for label in pair):  # NaN is not a class either
        raise ParameterError("classes", classes, "must be different")
    plain = [label.item() if isinstance(label, np.generic) else label for label in pair]
    if any(not isinstance(label, str | bytes) and abs(label) >= _MOST_LABEL for label in plain):
        what = "must be below 2^53 if they are numbers: doubles do not tell larger ones apart"
        raise ParameterError("classes", classes, what)
    for label in pair:
        if isinstance(label, str | bytes) and label[-1:] == (
            "\0" if isinstance(label, str) else b"\0"
        ):
            what = "must not end with a null character: NumPy's text has none at its end"
            raise ParameterError("classes", classes, what)
    return pair[0], pair[1]


def _is_positive(y: Any, positive: Label) -> NDArray[np.bool_]:
    """Return which labels are positive, or raise because of types or missing labels."""
    given = target(y)
    try:
        is_positive, missing = positives(Column.of(given, "y"), positive)
    except ParameterError as error:
        what = error.requirement
        problem: DtypeError | ParameterError = ParameterError("classes", positive, what)
    except DtypeError:
        what = f"must hold labels of one kind, as {positive!r} in classes is: for others, "
        what += "write classes=(negative, positive)"
        problem = DtypeError("y", type(y).__name__, what)
    else:
        if missing is not None:
            raise MissingValueError("y")
        return is_positive
    raise problem
