"""Machines and how they are reached: this one, by subprocesses, or others, by ssh."""
