"""Parts of rehearse_flower.py: federations of Flower on this machine, and their costs."""
