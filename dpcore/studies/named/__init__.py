"""The studies that come with dpcore: ``dpcore study --list`` names them.

Each study is a short file that you can copy and change. The study has the name of the file.
"""
