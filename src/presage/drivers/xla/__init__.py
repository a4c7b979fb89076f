"""Episodes as XLA programs: one trial written down, mapped over many."""
