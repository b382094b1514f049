"""Figures: heat maps, panels over time, one look for all of them. Knows no engine; of comparing at most what it draws."""
