"""Keep data sets, runs and judgments in one DuckDB file, and carry runs as zip files."""
