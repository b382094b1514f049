"""The commands that compare runs, engines and kernels."""
