"""The command ``dpcore``, from its first moment on.

Beside the package, for to import anything of that takes a second, in which an interrupt may come.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> int:
    """Run the command line and return the exit code: that of ``dpcore.cli.main``."""
    try:
        from dpcore import cli

        return cli.main()
    except KeyboardInterrupt:
        return 130
