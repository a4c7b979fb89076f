"""Generators with a known truth: whom forecasters are asked about, and what really follows."""
