"""The cure in a pipeline of one's own: a judge card of a finished run, and the judge that asks as
it says.
"""
