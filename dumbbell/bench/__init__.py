"""What the simulator costs: the benchmarks there are, how they are measured, what is recorded of them."""
