"""The durable log: one writer, a chain of hashes, and a head marker beside it."""
