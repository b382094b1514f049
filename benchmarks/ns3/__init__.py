"""The same scenarios in ns-3: an installation of it, and a program compiled against that."""
