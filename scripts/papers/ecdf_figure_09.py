"""Figure 9 of the ECDF paper, appendix B: one private ROC curve of the Diabetes data."""

from ._ecdf_roc import of_many_records

FIGURE = of_many_records(9, "Diabetes", 0.05)
