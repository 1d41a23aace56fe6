"""Functions of a record whose sums clients and servers can make: declared, with a public bound.

A round has the name and the parameters of a function, and no code.
"""

from .bounds import Ball, Bound, Box, Simplex
from .combined import Coarse, Product, Together
from .function import Function, function_from
from .of_numbers import Groups, Identity, One, Polynomials, Step, Vector
from .of_projections import ProjectionSums
from .of_regressions import RegressionSums
from .of_residuals import ResidualSums
from .of_risk_groups import RiskGroupSums

__all__ = [
    "Ball",
    "Bound",
    "Box",
    "Coarse",
    "Function",
    "Groups",
    "Identity",
    "One",
    "Polynomials",
    "Product",
    "ProjectionSums",
    "RegressionSums",
    "ResidualSums",
    "RiskGroupSums",
    "Simplex",
    "Step",
    "Together",
    "Vector",
    "function_from",
]
