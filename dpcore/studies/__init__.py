"""Monte Carlo studies: a function of parameters and a generator, run many times, in a tidy table.

``study`` makes a study from a function, ``run`` runs it on one or many machines, and ``load`` reads
the results in a folder. Needs the extra ``studies``, which is imported when a study runs. May
import all rooms except ``command_line``.
"""

from .calls import StudyError
from .results import Results
from .runner import load, run
from .store import StudyWarning
from .study import Study, study

__all__ = ["Results", "Study", "StudyError", "StudyWarning", "load", "run", "study"]
