"""Models that have learnt a log and score rows, without a service."""
