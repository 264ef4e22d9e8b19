"""Measure the lab by hand: ``python -m benchmarks WHAT``. Nothing here runs in a test.

Speed (judgments, pages, peers, scale), how often the lab is right (method, replies), whether a
change of the code changed a result (frozen), and how the code is written (house).
"""
