"""Records, from whatever holds them, as chunks of numbers: columns, labels and files.

Private, and exact. Imports ``kernels``, and no other room.
"""
