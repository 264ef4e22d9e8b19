"""The command line: words in, one answer and one exit code out."""
