"""Minima of penalised losses, and noise of one density in all directions, to many digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from scipy.special import expit


def ridge_minimum(records, responses, penalty):
    """The minimum of mean (w . x - y)^2 / 2 and penalty |w|^2 / 2, for records (D, n)."""
    size, n = records.shape
    return np.linalg.solve(
        records @ records.T / n + penalty * np.eye(size), records @ responses / n
    )


def logistic_gradient(records, penalty, tilt, w):
    """The gradient of mean log(1 + exp(-w . x)), penalty |w|^2 / 2 and w . tilt."""
    slopes = -expit(-(records.T @ w))
    return records @ slopes / records.shape[1] + penalty * w + tilt


def logistic_hessian(records, penalty, w):
    """Its second derivatives."""
    margins = records.T @ w
    curvatures = expit(margins) * expit(-margins)
    return (records * curvatures) @ records.T / margins.size + penalty * np.eye(len(w))


def logistic_minimum(records, penalty, tilt=0.0):
    """Its minimum: Newton steps, halved while they lead uphill in the gradient's length."""
    w = np.zeros(len(records))
    for _ in range(200):
        gradient = logistic_gradient(records, penalty, tilt, w)
        step = np.linalg.solve(logistic_hessian(records, penalty, w), gradient)
        length = np.linalg.norm(gradient)
        for _ in range(40):
            if np.linalg.norm(logistic_gradient(records, penalty, tilt, w - step)) < length:
                break
            step /= 2.0
        else:
            return w
        w = w - step
    return w


def exact_minimum(objective, start, digits=40):
    """The minimum of a ``models.minimum.Objective`` near a point, by Newton steps with mpmath."""
    with mp.workdps(digits):
        columns = [[mp.mpf(x) for x in record] for record in objective.records.T.tolist()]
        responses = getattr(objective.loss, "responses", None)
        size, n = objective.records.shape
        tilt = [0.0] * size if objective.tilt is None else objective.tilt.tolist()
        w = mp.matrix([mp.mpf(x) for x in start])
        for _ in range(12):
            gradient = mp.matrix([objective.penalty * w[j] + mp.mpf(tilt[j]) for j in range(size)])
            hessian = mp.eye(size) * mp.mpf(objective.penalty)
            for i, x in enumerate(columns):
                margin = mp.fsum(w[j] * x[j] for j in range(size))
                if responses is None:
                    share = 1 / (1 + mp.exp(margin))
                    slope, curvature = -share, share * (1 - share)
                else:
                    slope, curvature = margin - mp.mpf(float(responses[i])), mp.mpf(1)
                for j in range(size):
                    gradient[j] += slope * x[j] / n
                    for k in range(size):
                        hessian[j, k] += curvature * x[j] * x[k] / n
            step = mp.lu_solve(hessian, gradient)
            w -= step
            if mp.norm(step) < mp.mpf(10) ** (10 - digits):
                return np.array([*w], object)
    raise AssertionError("start nearer to the minimum")


def ideal_spherical(words, size, digits=60):
    """The vector that uniform reals make whose first bits are ``words``: a row of 8 or 1 for each.

    A row of 8 words is a real number; the bits beyond them are those of a half.
    """
    rows = iter(words)

    def real():
        digits_of = next(rows)
        return (sum(int(w) << (64 * k) for k, w in enumerate(digits_of)) + mp.mpf("0.5")) / (
            mp.mpf(2) ** (64 * len(digits_of))
        )

    with mp.workdps(digits + 160):
        length = mp.fsum(-mp.log(real()) for _ in range(size))
        normal = []
        for _ in range((size + 1) // 2):
            radius, angle = mp.sqrt(-2 * mp.log(real())), mp.pi / 2 * real()
            quadrant = int(next(rows)[0]) >> 62
            normal.append(radius * mp.cos(angle) * (1 if quadrant & 1 else -1))
            normal.append(radius * mp.sin(angle) * (1 if quadrant & 2 else -1))
        normal = normal[:size]
        norm = mp.sqrt(mp.fsum(z * z for z in normal))
        return [length * z / norm for z in normal]


def moments(rows):
    """The sums of products that are released for rows (features, response, perhaps a constant)."""
    return rows @ rows.T


def logistic_log_density(records, penalty, scale, w):
    """The logarithm of the density of objective perturbation at w, but for a constant.

    The noise that leads to w is -n times the gradient there.
    """
    n = records.shape[1]
    noise = -n * logistic_gradient(records, penalty, 0.0, w)
    _, determinant = np.linalg.slogdet(n * logistic_hessian(records, penalty, w))
    return determinant - np.linalg.norm(noise) / scale
