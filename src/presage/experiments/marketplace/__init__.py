"""Figures 6 and 7 of the paper: engagement with the items of a marketplace, with and without new items every day."""
