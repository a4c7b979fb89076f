"""The watch: what the dashboard shows, folded from what the log says, in bounded memory."""
