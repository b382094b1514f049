"""Two engines on the same scenarios: sets of scenarios, measures, differences, and the statement of agreement."""
