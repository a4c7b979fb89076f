"""When a forecaster trains and from what: replay windows, cadence, and keys that only count."""
