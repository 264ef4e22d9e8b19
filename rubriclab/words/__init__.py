"""Say in plain sentences what rows and verdicts mean. Nothing is computed here."""
