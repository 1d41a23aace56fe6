"""The studies that come with dpcore: ``dpcore study --list`` names them.

Each is a short file that can be copied and changed: its study has the name of the file.
"""
