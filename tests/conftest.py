"""Its place lets every test import the helpers beside it."""
