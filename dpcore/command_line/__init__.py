"""The parts of the command line, which starts in ``dpcore.command_line.main``."""
