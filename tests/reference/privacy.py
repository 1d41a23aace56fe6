"""What one Gaussian release costs, to 50 digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath


def gaussian_delta(sigma, epsilon, sensitivity):
    """Balle & Wang (2018), Theorem 8, as it stands there."""
    with mpmath.workdps(450):  # the two terms may agree in hundreds of digits
        apart = mpmath.mpf(sensitivity) / mpmath.mpf(sigma)
        epsilon = mpmath.mpf(epsilon)
        first = mpmath.ncdf(apart / 2 - epsilon / apart)
        return first - mpmath.exp(epsilon) * mpmath.ncdf(-apart / 2 - epsilon / apart)


def discrete_gaussian_delta(sigma_squared: Fraction, epsilon, sensitivity):
    """The sum of max(0, P(y) - e^epsilon P(y + sensitivity)) over all y."""
    with mpmath.workdps(50):
        rate = mpmath.mpf(sigma_squared.denominator) / (2 * sigma_squared.numerator)
        edge = int(30 * float(sigma_squared) ** 0.5 * (1 + epsilon)) + sensitivity + 5
        weight = [mpmath.exp(-rate * y * y) for y in range(2 * edge)]
        factor = mpmath.exp(mpmath.mpf(epsilon))
        excess = (
            weight[abs(y)] - factor * weight[abs(y + sensitivity)] for y in range(-edge, edge)
        )
        total = 2 * mpmath.fsum(weight) - 1
        return mpmath.fsum(max(mpmath.mpf(0), term) for term in excess) / total
