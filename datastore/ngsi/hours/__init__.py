"""Kept aggregates of samples by the hour, and what makes them invalid."""
