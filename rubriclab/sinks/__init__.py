"""Rows in; words, tables, pictures and one HTML file out. Nothing is computed here and no sink
knows a topic.
"""
