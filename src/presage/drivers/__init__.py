"""Two drivers, one core: whole episodes in one compiled program, or events one by one."""
