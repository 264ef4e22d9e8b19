"""Write results for others to read: tables, JSON, the report, the terminal, and CI's gate."""
