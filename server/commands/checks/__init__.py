"""The checks of `penstock doctor`: each module checks one dependency of the server."""
