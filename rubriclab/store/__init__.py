"""Data sets, runs and judgments kept in one DuckDB file, and carried as zip files."""
