"""Ask judges: the small model, servers, APIs, functions, simulations. One call gets one Reply."""
