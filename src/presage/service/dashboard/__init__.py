"""The dashboard: a page, its style and its scripts, and the stream that feeds them."""
