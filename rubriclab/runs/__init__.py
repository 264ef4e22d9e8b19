"""Turn plans into judgments: load, forecast, ask, pause and resume."""
