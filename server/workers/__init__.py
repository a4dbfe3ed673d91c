"""Processes that run executions: those of a server, and those of their own."""
