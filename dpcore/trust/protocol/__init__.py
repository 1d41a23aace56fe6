"""Clients and servers: a round's parameters, reports as bytes, sums, and the curves they make.

Imports the models.
"""
