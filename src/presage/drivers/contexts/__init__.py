"""The default forecaster, row by row in loops compiled by numba."""
