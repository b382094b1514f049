"""Figures: heat maps, panels over time, and a common style. Depends on no engine, and on comparing only for the values that it draws."""
