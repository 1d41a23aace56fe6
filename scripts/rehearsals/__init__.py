"""Parts of rehearse.py and rehearse_functions.py: processes of clients, servers and analysts."""
