"""The data that the paper's experiments are played on, made of public logs."""
