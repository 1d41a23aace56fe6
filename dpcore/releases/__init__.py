"""The verbs that spend privacy: from records to curves, tests and numbers that may be shown.

Each checks its arguments, counts, calls a mechanism, and says what that cost. The top room but for
the command line: it imports mechanisms, curves and statistics.
"""
