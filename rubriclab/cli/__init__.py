"""Offer the lab on the command line: every command prints one answer and ends with one code."""
