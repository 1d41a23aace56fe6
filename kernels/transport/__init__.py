"""Eq. 3 of the ECDF paper with norm 1, as a flow: cuts, an interior point, and an exact end."""
