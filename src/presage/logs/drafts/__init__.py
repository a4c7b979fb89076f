"""First drafts of a task file: what the columns of a log look like, and what they may be."""
