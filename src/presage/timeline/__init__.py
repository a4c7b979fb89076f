"""Feedback in time: how late it is, what an episode is, and the order in which things become known."""
