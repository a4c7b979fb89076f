"""Logs with a known truth, for trying things out."""
