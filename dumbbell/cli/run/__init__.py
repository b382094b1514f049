"""The commands that run something, and the parts of them."""
