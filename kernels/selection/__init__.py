"""The exponential mechanism, and what chooses by it: medians, quantiles asked one by one."""
