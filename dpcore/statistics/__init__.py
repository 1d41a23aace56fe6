"""Statistics of released curves: post-processing, at no further cost in privacy.

This room may import ``curves`` and the rooms below it, but no mechanism.
"""

from . import classifier
from .area_differences import auc_difference_interval, population_auc_difference_interval
from .bayesian_binning import BayesianBinning
from .between_curves import symmetric_difference
from .binning import Bins, equi_depth_bins, uniform_bins
from .binormal import BinormalROC
from .calibration import (
    Reliability,
    expected_calibration_error,
    maximum_calibration_error,
    reliability,
)
from .calibration_intervals import (
    expected_calibration_error_interval,
    population_expected_calibration_error_interval,
)
from .calibrators import HistogramBinning, IsotonicCalibration
from .classwise_calibration import ClasswiseCalibration
from .distribution import (
    conditional_mean,
    gini,
    interquartile_range,
    interquartile_range_interval,
    lorenz_curve,
    quantile_ratio,
    quantile_ratio_interval,
    trimmed_mean,
)
from .hosmer_lemeshow import HosmerLemeshow, HosmerLemeshowUnderNoise
from .residual_moments import ResidualMoments
from .residuals import residual_plot_distance
from .roc import ROC
from .roc_groups import GroupedROC
from .score_histograms import ScoreHistogram
from .survival_scores import RatesAtTime, RiskCalibration, SurvivalScores

__all__ = [
    "ROC",
    "BayesianBinning",
    "BinormalROC",
    "Bins",
    "ClasswiseCalibration",
    "GroupedROC",
    "HistogramBinning",
    "HosmerLemeshow",
    "HosmerLemeshowUnderNoise",
    "IsotonicCalibration",
    "RatesAtTime",
    "Reliability",
    "ResidualMoments",
    "RiskCalibration",
    "ScoreHistogram",
    "SurvivalScores",
    "auc_difference_interval",
    "classifier",
    "conditional_mean",
    "equi_depth_bins",
    "expected_calibration_error",
    "expected_calibration_error_interval",
    "gini",
    "interquartile_range",
    "interquartile_range_interval",
    "lorenz_curve",
    "maximum_calibration_error",
    "population_auc_difference_interval",
    "population_expected_calibration_error_interval",
    "quantile_ratio",
    "quantile_ratio_interval",
    "reliability",
    "residual_plot_distance",
    "symmetric_difference",
    "trimmed_mean",
    "uniform_bins",
]
