"""The general solvers that compete in smoothing, all with the same problem.

minimise 1/2 sum nu^2 (norm 2) or sum |nu| (norm 1)  subject to  c + G nu >= 0

with c and G of docs/proofs/dyadic.md, which are sparse. No solver's time includes making them.
For norm 1, nu = p - q with p, q >= 0 at a cost of p + q. "dual" means the form that dpcore gives to
OSQP. c is scaled to within [-1, 1]. All are asked for 1e-9 unless the name says otherwise. Each
function makes matrices in the solver's own form and returns the call that sets up, solves, and
returns nu.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog, minimize

TOLERANCE = 1e-9
UNBOUNDED = 1e30  # PIQP treats this as infinity


class Instance(NamedTuple):
    """A finished smoothing problem, and its noisy curve."""

    noisy: np.ndarray
    n: int
    norm: int
    unit: float
    increments: np.ndarray  # c / unit, (N,)
    incidence: sp.csc_matrix  # G, (N, E)

    @property
    def quadratic(self) -> sp.csc_matrix:
        """The matrix P of 1/2 nu' P nu, or of 1/2 (p, q)' P (p, q)."""
        edges = self.incidence.shape[1]
        if self.norm == 1:
            return sp.csc_matrix((2 * edges, 2 * edges))
        return sp.csc_matrix(sp.eye_array(edges))

    @property
    def linear(self) -> np.ndarray:
        """The linear part of the cost."""
        edges = self.incidence.shape[1]
        return np.ones(2 * edges) if self.norm == 1 else np.zeros(edges)

    @property
    def constraints(self) -> sp.csc_matrix:
        """A in c + A x >= 0."""
        if self.norm == 2:
            return self.incidence
        return sp.csc_matrix(sp.hstack([self.incidence, -self.incidence]))

    @property
    def laplacian(self) -> sp.csc_matrix:
        """G G', for duals."""
        return sp.csc_matrix(self.incidence @ self.incidence.T)

    def flow(self, x) -> np.ndarray:
        """Return nu, in counts, from a solver's unknowns."""
        x = np.asarray(x).ravel() * self.unit
        edges = self.incidence.shape[1]
        return x[:edges] - x[edges:] if self.norm == 1 else x


def piqp(instance: Instance):
    from piqp import SparseSolver

    unknowns, least = instance.linear.size, -instance.increments
    data = (instance.quadratic, instance.linear, None, None, instance.constraints)
    above = np.full(least.size, UNBOUNDED)
    bounds = ()
    if instance.norm == 1:
        bounds = (np.zeros(unknowns), np.full(unknowns, UNBOUNDED))

    def solve():
        solver = SparseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = TOLERANCE
        solver.setup(*data, least, above, *bounds)
        solver.solve()
        return instance.flow(solver.result.x)

    return solve


def piqp_dual(instance: Instance):
    from piqp import SparseSolver

    boundaries, edges = instance.incidence.shape
    slopes = sp.csc_matrix(instance.incidence.T)
    none = sp.csc_matrix((boundaries, boundaries))
    quadratic = sp.csc_matrix(sp.triu(instance.laplacian)) if instance.norm == 2 else none
    constraints = (None, None, None)
    if instance.norm == 1:
        constraints = (slopes, np.full(edges, -1.0), np.ones(edges))
    bounds = np.zeros(boundaries), np.full(boundaries, UNBOUNDED)

    def solve():
        solver = SparseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = TOLERANCE
        solver.setup(quadratic, instance.increments, None, None, *constraints, *bounds)
        solver.solve()
        if instance.norm == 2:
            return instance.unit * (slopes @ solver.result.x)
        return instance.unit * (solver.result.z_u - solver.result.z_l)

    return solve


def clarabel(instance: Instance):
    from clarabel import DefaultSettings, DefaultSolver, NonnegativeConeT

    rows, least = -instance.constraints, instance.increments
    if instance.norm == 1:
        unknowns = instance.linear.size
        rows = sp.vstack([rows, -sp.eye_array(unknowns)])
        least = np.r_[least, np.zeros(unknowns)]
    settings = DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    cones = [NonnegativeConeT(least.size)]
    data = (instance.quadratic, instance.linear, sp.csc_matrix(rows), least, cones, settings)
    return lambda: instance.flow(DefaultSolver(*data).solve().x)


def cvxopt(instance: Instance):
    from cvxopt import matrix, solvers, spmatrix

    def converted(array):
        array = sp.coo_array(array)
        return spmatrix(array.data, array.row.tolist(), array.col.tolist(), array.shape)

    rows, least = -instance.constraints, instance.increments
    options = {"show_progress": False}
    if instance.norm == 1:  # its default is 1e-6; below that, it gives up on linear programs
        unknowns = instance.linear.size
        rows = sp.vstack([rows, -sp.eye_array(unknowns)])
        cost, rows = matrix(instance.linear), converted(rows)
        least = matrix(np.r_[least, np.zeros(unknowns)])
        return lambda: instance.flow(solvers.lp(cost, rows, least, options=options)["x"])
    options |= dict.fromkeys(("abstol", "reltol", "feastol"), TOLERANCE)
    data = converted(instance.quadratic), matrix(instance.linear), converted(rows), matrix(least)
    return lambda: instance.flow(solvers.qp(*data, options=options)["x"])


def osqp(tolerance: float):
    def start(instance: Instance):
        from osqp import OSQP

        rows, least = instance.constraints, -instance.increments
        if instance.norm == 1:
            unknowns = instance.linear.size
            rows = sp.csc_matrix(sp.vstack([rows, sp.eye_array(unknowns)]))
            least = np.r_[least, np.zeros(unknowns)]
        data = (instance.quadratic, instance.linear, rows, least, np.full(least.size, np.inf))
        settings = {"eps_abs": tolerance, "eps_rel": tolerance, "max_iter": 100_000}

        def solve():
            solver = OSQP()
            solver.setup(*data, verbose=False, **settings)
            return instance.flow(solver.solve(raise_error=True).x)

        return solve

    return start


def highs(method: str):
    """SciPy's HiGHS, for norm 1."""

    def start(instance: Instance):
        rows = -instance.constraints
        data = (instance.linear, rows, instance.increments)
        return lambda: instance.flow(linprog(*data, method=method).x)

    return start


def highs_quadratic(instance: Instance):
    """HiGHS' active set solver, for norm 2."""
    import highspy

    boundaries, edges = instance.incidence.shape
    columns = instance.incidence
    model = highspy.HighsModel()
    linear, hessian, matrix = model.lp_, model.hessian_, model.lp_.a_matrix_
    linear.num_col_, linear.num_row_ = edges, boundaries
    linear.col_cost_ = instance.linear
    linear.col_lower_ = np.full(edges, -highspy.kHighsInf)
    linear.col_upper_ = np.full(edges, highspy.kHighsInf)
    linear.row_lower_ = -instance.increments
    linear.row_upper_ = np.full(boundaries, highspy.kHighsInf)
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.start_, matrix.index_, matrix.value_ = columns.indptr, columns.indices, columns.data
    hessian.dim_, hessian.format_ = edges, highspy.HessianFormat.kTriangular
    hessian.start_, hessian.index_ = np.arange(edges + 1), np.arange(edges)
    hessian.value_ = np.ones(edges)

    def solve():
        solver = highspy.Highs()
        solver.silent()
        solver.passModel(model)
        solver.run()
        return instance.flow(solver.getSolution().col_value)

    return solve


def scipy_lbfgsb(instance: Instance):
    """SciPy's quasi-Newton method with bounds, on the dual, for norm 2."""
    laplacian, slopes = sp.csr_array(instance.laplacian), sp.csr_array(instance.incidence.T)
    start = np.zeros(instance.increments.size)

    def value_and_gradient(potential):
        product = laplacian @ potential
        return (0.5 * product + instance.increments) @ potential, product + instance.increments

    options = {"maxiter": 10**5, "maxfun": 10**6, "maxcor": 30, "ftol": 0.0, "gtol": 1e-7}

    def solve():
        bounds = [(0, None)] * start.size
        found = minimize(
            value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        return instance.unit * (slopes @ found.x)

    return solve
