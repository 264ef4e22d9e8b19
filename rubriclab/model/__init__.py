"""What is judged, what is asked and what comes back: plain values, without a store, a server or a
page.
"""
