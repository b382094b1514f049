"""The commands for packet captures and for files of other tools."""
