"""Examples to run from the root of the repository."""
