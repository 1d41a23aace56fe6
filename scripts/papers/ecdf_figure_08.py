"""Figure 8 of the ECDF paper, appendix B: one private ROC curve of the Bank data."""

from ._ecdf_roc import of_many_records

FIGURE = of_many_records(8, "Bank", 0.2)
