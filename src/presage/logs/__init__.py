"""Reading logs: commit histories, markets and the files they come from, through DuckDB."""
