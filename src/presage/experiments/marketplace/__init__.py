"""Figures 6 and 7 of the paper: engagement with the items of a marketplace, with new items every day and without."""
