"""Trust models: where the noise is made, and so who has to be trusted.

Each trust model is a mechanism. It can be used wherever a mechanism can, as in ``dpcore.cdf`` and
``dpcore.score_curves``. Clients and servers run the protocols that the models stand for. This
room may import ``mechanisms``, ``models``, ``statistics`` and the rooms below them.

The *federated paper* is Cormode & Markov, *Federated Calibration and Evaluation of Binary
Classifiers*. The *ECDF paper* is Barczewski, Mawass & Ramon, *Differentially Private Empirical
Cumulative Distribution Functions*.
"""

from . import comparison, functions
from .adaptive import adapted_cdf, adapted_grid
from .advice import Advice, Enough, advise, enough
from .contributions import client_cdf, client_score_curves
from .models.central import Central
from .models.distributed import DistributedNoise
from .models.function_sharing import FunctionSharing
from .models.local import Local
from .models.secure_aggregation import SecureAggregation
from .models.shuffled import Shuffled
from .models.square_wave import SquareWave
from .models.square_wave_reports import SquareWaveEncoding
from .models.subset import SubsetSelection
from .models.unary import UnaryEncoding
from .pointwise.aggregators import Aggregator
from .pointwise.clients import PointwiseClient
from .pointwise.curve import PointwiseCDF
from .pointwise.sums import FunctionServers, SharedVectors, SimulatedSum
from .protocol.agreement import agree
from .protocol.answers import Answer, Opened, opened
from .protocol.cells import cell_of
from .protocol.clients import Client
from .protocol.curves import release, release_scores, release_survival
from .protocol.enrolment import Enrolment, Ticket
from .protocol.parameters import Protocol
from .protocol.partial_sums import PartialSum, combine
from .protocol.released_sums import ReleasedSum, release_sum
from .protocol.rounds import Memory, Round, Sums
from .protocol.servers import Server
from .protocol.trust_models import TrustModel, trust_models
from .protocol.vector_sums import VectorSum
from .protocol.wire import ReportError, RoundError
from .side_by_side import Overview, TrustOption, overview
from .statistics_of_sums import (
    hosmer_lemeshow,
    linear_regression,
    projection,
    reliability,
    residual_moments,
)
from .summation import vector_sum

__all__ = [
    "Advice",
    "Aggregator",
    "Answer",
    "Central",
    "Client",
    "DistributedNoise",
    "Enough",
    "Enrolment",
    "FunctionServers",
    "FunctionSharing",
    "Local",
    "Memory",
    "Opened",
    "Overview",
    "PartialSum",
    "PointwiseCDF",
    "PointwiseClient",
    "Protocol",
    "ReleasedSum",
    "ReportError",
    "Round",
    "RoundError",
    "SecureAggregation",
    "Server",
    "SharedVectors",
    "Shuffled",
    "SimulatedSum",
    "SquareWave",
    "SquareWaveEncoding",
    "SubsetSelection",
    "Sums",
    "Ticket",
    "TrustModel",
    "TrustOption",
    "UnaryEncoding",
    "VectorSum",
    "adapted_cdf",
    "adapted_grid",
    "advise",
    "agree",
    "cell_of",
    "client_cdf",
    "client_score_curves",
    "combine",
    "comparison",
    "enough",
    "functions",
    "hosmer_lemeshow",
    "linear_regression",
    "opened",
    "overview",
    "projection",
    "release",
    "release_scores",
    "release_sum",
    "release_survival",
    "reliability",
    "residual_moments",
    "trust_models",
    "vector_sum",
]
