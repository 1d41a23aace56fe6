"""What each fast function means, in plain NumPy and Python: slow, short, and without tricks.

A module for each room, and one for selection; all names are here, too.
"""

# ruff: noqa: F401  (the names are for those who import the package)

from __future__ import annotations

from .buffers import (
    buffered_noise,
    exact_weights,
    inverse_series,
    least_deviations,
    least_toeplitz,
    nuclear_bound,
    squares_in_digits,
    toeplitz,
)
from .curves import curve_steps, empirical, smooth_objective, smoothing_constraints, step_distances
from .local import (
    halved,
    local_variance,
    smoothed_likelihood,
    square_wave_matrix,
    square_wave_report,
    subset_covariances,
    subset_law,
    subset_report,
    unary_covariances,
)
from .mechanisms import (
    adaptive_quantiles,
    adaptive_questions,
    charge,
    cheapest,
    deviation,
    distances,
    hierarchy_estimate,
    hierarchy_matrix,
    hilbert,
    histogram_queries,
    legendre_steps,
    levels,
    moments_coefficients,
    nodes,
    partition_nodes,
    partitions,
    projected,
    risk,
    square_root_errors,
    square_root_matrix,
    through,
    tree_matrix,
    tried_partitions,
    with_ends,
    without_negative_counts,
)
from .noise import (
    bell_law,
    below_exponential,
    bernoulli,
    bernoulli_exp,
    bernoulli_exp_fraction,
    bernoulli_exp_one,
    bernoulli_two_over_e,
    discrete_gaussian_bins,
    discrete_gaussian_pmf,
    discrete_gaussian_proposal,
    discrete_laplace_digits,
    discrete_laplace_pmf,
    discrete_laplace_proposal,
    discrete_laplace_tail,
    inverted,
    rounded_cauchy,
    rounded_cauchy_law,
    uniform,
)
from .privacy import discrete_gaussian_delta, gaussian_delta
from .residuals import cells_within, residual_plot_distance
from .selection import (
    above_threshold_law,
    beside_zero,
    beside_zero_inside,
    beside_zero_scores,
    compact_scores,
    cut_losses,
    exponential_law,
    exponential_mechanism,
    falling_weights,
    law_of_cuts,
    median_position,
    node_positions,
    node_sensitivity,
    order_statistic,
    rank_of_place,
    records_within,
    replace_one_sensitivity,
    split_law,
    symmetric_law,
)
from .sharing import (
    comparison,
    comparison_children,
    comparison_controls,
    comparison_keys,
    comparison_outputs,
)
from .statistics import (
    area_between,
    area_by_pairs,
    bayesian_binning,
    calibration_errors,
    confusion_above,
    equi_depth_ends,
    hosmer_lemeshow,
    merged_groups,
    records_by_bin,
    risk_groups,
    urn,
)
from .streams import causal_shift, opening_order
from .summaries import (
    count,
    count_by_class,
    count_pairs,
    legendre_terms,
    legendre_values,
    moment_terms,
    position,
)
from .survival import life_table, survival_counts
from .survival_scores import concordance, risk_in_bin, weighted_area
