"""Backtests: a log replayed in the order things became known, scored, and told in a report."""
