"""How well: losses, regrets and what they are made of, bounds, intervals."""
