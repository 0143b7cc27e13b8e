"""Where bodies are and how they turn, closing loops, the mechanism's length: what all rooms above share."""
