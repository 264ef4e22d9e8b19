"""Statistics: arrays in, numbers out; nothing here knows of runs, stores or words."""
