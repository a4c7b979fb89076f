"""The dashboard: a page, its style and its scripts, and the numbers that feed them."""
