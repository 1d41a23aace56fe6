"""Exact draws from laws of integers, from words of random bits."""
