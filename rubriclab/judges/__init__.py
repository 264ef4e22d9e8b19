"""Judges: one OpenAI-compatible client; embedded, vLLM and simulated judges behind one door."""
