"""Two engines on the same scenarios: which ones, what is compared, and what is said of it."""
