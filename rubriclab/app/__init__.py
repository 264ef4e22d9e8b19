"""The pages in a browser: everything that Streamlit draws."""
