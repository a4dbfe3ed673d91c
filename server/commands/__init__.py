"""One module for each command; what is slow to import is imported inside the function."""
