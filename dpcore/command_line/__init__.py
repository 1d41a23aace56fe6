"""The commands of ``dpcore``: files and options in, text, JSON and pictures out.

Starts in ``main``. The top room: may import all others, and none imports it.
"""

from .interrupts import end_quietly

__all__: list[str] = []

end_quietly()  # before anything large is imported
