"""The verbs that spend privacy: from records to curves, tests and numbers that may be shown.

Each checks its arguments, counts, calls a mechanism, and says what that cost. ``plan`` says ahead
which mechanism that is, and spends nothing. May import all rooms but ``command_line``.
"""
