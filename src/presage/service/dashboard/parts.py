"""The files that the page of the dashboard is made of."""

TYPES = {".css": "text/css", ".js": "text/javascript"}
PARTS = ("style.css", "draw.js", "panels.js", "live.js")
"""What the page is made of; it holds no data, and is given to all."""
