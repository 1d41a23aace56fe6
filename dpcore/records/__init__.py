"""Records from any container, as chunks of numbers: columns, labels and files.

The chunks are private and exact. Imports ``kernels`` and no other room.
"""
