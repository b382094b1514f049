"""Comparison of dumbbell's runs with reference values: formats, tolerances, differences, tables. Depends on no engine and draws no
figures."""
