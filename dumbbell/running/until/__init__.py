"""Running the cells of a scenario until a metric is known well enough: the rule that decides it, and the runs that it takes."""
