"""The commands for the store, the machine and the shell."""
