"""The published studies that come with dumbbell, a folder each. They know the package `dumbbell`, which imports nothing of them."""
