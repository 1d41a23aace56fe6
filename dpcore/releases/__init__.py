"""The functions that spend privacy: they turn records into curves, tests and numbers to publish.

Each function checks its arguments, counts the records, calls a mechanism, and states the cost.
``plan`` names the mechanism in advance and spends nothing. This room may import all other rooms
except ``command_line``.
"""
