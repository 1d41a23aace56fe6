"""The parts of the command line, which starts in ``dpcore.cli``."""
