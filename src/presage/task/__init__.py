"""The task file: what is predicted, from which features, how late, and how a log says so."""
