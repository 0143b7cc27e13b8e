"""A run as files: its columns, where and with what it was made, its folder; below all that read runs."""
