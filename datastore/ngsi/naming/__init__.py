"""The names of destinations: rules, mappings and the registry."""
