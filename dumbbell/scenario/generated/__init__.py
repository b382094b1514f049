"""Models that are made from the catalogue (`python docs/catalogue.py`)."""
