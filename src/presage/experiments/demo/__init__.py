"""The demo: an ebook shop forecast online, with honest delays."""
