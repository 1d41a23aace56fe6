"""Reports: one self-contained page of HTML about any releases, at no cost."""

from .report import report

__all__ = ["report"]
