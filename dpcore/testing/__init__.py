"""Checks for mechanisms and trust models of one's own, as scikit-learn has for estimators."""

from .mechanisms import check_mechanism
from .trust_models import check_trust_model

__all__ = ["check_mechanism", "check_trust_model"]
