"""Records, from whatever holds them, as chunks of numbers: columns, labels and files.

Private, and exact. Imports ``errors`` and checks of arguments alone.
"""
