"""What is learned: forecasters as pure functions over an explicit state."""
