"""The learner: a process of its own that folds the log, and what it publishes and keeps."""
