"""The experiments: a folder each with settings (data), problem (settings to tables) and figure (tables to pictures)."""
