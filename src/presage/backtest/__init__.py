"""Forecasters judged on a log, in the order things became known: nothing is known before it was known."""
