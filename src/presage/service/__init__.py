"""The service: predictions over HTTP, feedback learnt from exactly once, everything a fold over a durable log."""
