"""The modules whose `__all__` is public."""

ROOMS = (
    "dpcore",
    "dpcore.curves.distances",
    "dpcore.mechanisms",
    "dpcore.models",
    "dpcore.noise",
    "dpcore.privacy",
    "dpcore.records.files",
    "dpcore.statistics",
    "dpcore.statistics.classifier",
    "dpcore.streams",
    "dpcore.studies",
    "dpcore.testing",
    "dpcore.trust",
    "dpcore.trust.comparison",
    "dpcore.trust.functions",
)
