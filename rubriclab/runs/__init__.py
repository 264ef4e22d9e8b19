"""Plans become judgments: started, paused, resumed; and what a run will take before it starts."""
