"""Figures 4 and 5 of the paper: will a repository stay active, when the kind of repository asked about shifts."""
