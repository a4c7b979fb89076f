"""A durable service: predictions, feedback and learning, kept in a log."""
