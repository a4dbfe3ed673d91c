"""Moving a whole store: export to an archive, and import from one."""
