"""Result in, plotly figure and its alt text out. Nothing is computed here."""
