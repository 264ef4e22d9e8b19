"""Arrays in, numbers out. NumPy and SciPy (and statsmodels for regression) only."""
