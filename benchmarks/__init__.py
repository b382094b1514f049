"""What measures the simulator from outside: instructions, memory, and ns-3 beside it. Run as modules from the root of the repository."""
