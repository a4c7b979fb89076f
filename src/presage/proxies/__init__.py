"""Judging proxies: what an early sign tells of a slow outcome, how early, how lastingly, and whether it pays."""
