"""One road for a run, whichever engine computes it: it is planned, checked and given a key, and computed if the store lacks it."""
