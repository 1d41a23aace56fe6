"""Clients: grouping of their records, drawing of their places, and perturbed reports."""
