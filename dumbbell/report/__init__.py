"""Tables, figures and differences. Reads runs; knows no engine."""
