"""Hostile requests, over every transport of the server."""
