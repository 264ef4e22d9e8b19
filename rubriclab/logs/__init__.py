"""Logs of other tools in, tables of judgments out."""
