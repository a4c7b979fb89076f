"""Figures 4 and 5 of the paper: will a repository stay active, while the kind of repository shifts."""
