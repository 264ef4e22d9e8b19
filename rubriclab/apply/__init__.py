"""Use a tested judge in a pipeline of your own: make its card, and ask as the card says."""
