"""The heavy top: a fast spinning symmetric body on a ball joint."""
