"""Tables by counting, in loops compiled by numba."""
