"""Judges: a call in, one Reply out, whatever answers: the small model, a server, an API, a
simulation.
"""
