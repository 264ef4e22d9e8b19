"""Draw what rows say: the data of each picture first, then Plotly figures and SVG."""
