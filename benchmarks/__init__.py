"""Benchmarks with permanent names: ratios of things measured side by side in one run.

`python -m benchmarks` runs them all from the root of the repository, `python -m benchmarks steps` one of them.
"""
