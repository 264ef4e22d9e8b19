"""Turn logs of other tools into judgments, or into a study that asks their prompts again."""
