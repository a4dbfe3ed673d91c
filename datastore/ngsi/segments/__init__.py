"""Segments, files of committed events, and the runs of the manifest that they share."""
