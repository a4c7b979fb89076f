"""Reading users' logs through DuckDB or Spark."""
