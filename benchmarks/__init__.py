"""Speed, side by side with what it is compared to, as ratios: ``python -m benchmarks judgments``."""
