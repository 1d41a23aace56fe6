"""The exponential mechanism, and methods that use it: medians, and adaptive quantiles."""
