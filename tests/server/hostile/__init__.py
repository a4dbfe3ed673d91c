"""Hostile things to say to a server, over every way there is to ask it."""
