"""What is measured, and run by hand: ``python -m benchmarks judgments`` (speed), ``python -m
benchmarks method`` (errors, power).
"""
