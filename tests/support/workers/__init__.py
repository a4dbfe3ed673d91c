"""Runs the tests in several processes: `pytest --workers 3`."""
