"""A Flower app: sites release a private CDF and a private ROC curve of all their records."""
