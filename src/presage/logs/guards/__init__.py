"""What to look at before believing a score: leaks, repeated rows, and delays that make no sense."""
