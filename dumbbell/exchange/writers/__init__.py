"""Runs as files of other tools, a format a module."""
