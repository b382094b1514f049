"""Our runs beside reference values, and both as tables: formats, tolerances, differences, agreement. Knows no engine and draws nothing."""
