"""scikit-learn's own checks of estimators, and what does not apply."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from dpcore.models import LinearRegression, LogisticRegression

INFINITE = "whether a value is infinite is a record's secret: it is clipped to the bounds"
LABELS = "which labels there are is private: all but the second of classes are negative"
EXPECTED = {
    "LogisticRegression": {
        "check_estimators_nan_inf": INFINITE,
        "check_classifiers_classes": LABELS,
        "check_classifier_not_supporting_multiclass": LABELS,
        "check_classifiers_regression_target": LABELS,
        "check_supervised_y_no_nan": LABELS,  # refuses NaN, and should refuse infinity
    },
    "LinearRegression": {
        "check_estimators_nan_inf": INFINITE,
        "check_supervised_y_no_nan": INFINITE,
    },
}
NO_NOISE = 1e16  # some checks compare two fits: as good as no noise is drawn


@parametrize_with_checks(
    [
        LogisticRegression(NO_NOISE, x_bounds=(-10, 10), C=100.0),
        LogisticRegression(NO_NOISE, x_bounds=(-10, 10), C=100.0, method="output"),
        LinearRegression(NO_NOISE, x_bounds=(-10, 10), y_bounds=(-200, 200)),
        LinearRegression(
            NO_NOISE, x_bounds=(-10, 10), y_bounds=(-200, 200), method="output", alpha=0.01
        ),
    ],
    expected_failed_checks=lambda estimator: EXPECTED[type(estimator).__name__],
)
def test_estimator_checks(estimator, check):
    check(estimator)
