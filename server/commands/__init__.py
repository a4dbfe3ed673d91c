"""One module for each command; slow imports happen inside the function."""
