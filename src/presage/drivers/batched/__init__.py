"""Networks, many rounds at once between training steps: whole blocks of rounds, and batches of lessons."""
