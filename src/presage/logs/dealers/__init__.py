"""Predictions dealt from the simulated worlds, chunk by chunk, ready to be written as a log."""
