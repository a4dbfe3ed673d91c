"""Scanners of others, run against the real server: `make scan`."""
