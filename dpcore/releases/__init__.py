"""The functions that spend privacy: they turn records into curves, tests and numbers to publish.

Each function checks its arguments, counts the records, calls a mechanism, and states the cost.
This room may import all rooms except ``models``, ``testing``, ``papers``, ``studies`` and
``command_line``.
"""
