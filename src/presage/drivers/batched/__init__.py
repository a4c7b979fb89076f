"""Networks between two trainings at once: whole blocks of rounds, and batches of lessons."""
