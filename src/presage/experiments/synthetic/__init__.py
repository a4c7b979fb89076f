"""Figure 2 of the paper: regret on synthetic tasks, from adversarial to uniform schedules; and how it grows."""
