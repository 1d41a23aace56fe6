"""Clients and servers: the parameters of a round, reports as bytes, sums, and their curves.

This package imports ``models``.
"""
