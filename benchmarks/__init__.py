"""Measurements of the simulator from outside: instructions, memory, and a comparison with ns-3. Run as modules from the root of the
repository."""
