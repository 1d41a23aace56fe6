"""Parts of release.py: distributions are built, looked at, installed and tried."""
