"""Monte Carlo studies: a function of parameters and a generator, run many times, in a tidy table.

``study`` makes a study of a function, ``run`` runs it on one machine or many, and ``load`` reads
what a folder holds. Needs the extra ``studies``, which is imported when a study runs. May import
all rooms but ``command_line``.
"""

from .calls import StudyError
from .results import Results
from .runner import load, run
from .store import StudyWarning
from .study import Study, study

__all__ = ["Results", "Study", "StudyError", "StudyWarning", "load", "run", "study"]
