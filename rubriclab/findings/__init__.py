"""Tidy frame in, frozen result out: denominators, intervals, warnings. One file a topic.

Every topic file has one entry function of the same name that takes a
:class:`~rubriclab.model.RunData` and returns a frozen result.
"""
