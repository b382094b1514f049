"""Results in the formats of other tools: writing runs as their files, and reading their files as runs."""
