"""Clients and servers: the parameters of a round, reports as bytes, sums, and their curves.

It knows no trust model: it asks ``rounds.TrustModel`` and ``rounds.Round``.
"""
