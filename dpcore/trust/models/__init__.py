"""Trust models as mechanisms: a curator, secure aggregation, distributed noise, local privacy.

What each protocol's release is drawn from, given the exact counts of all clients. Knows
no ``protocol``.
"""
