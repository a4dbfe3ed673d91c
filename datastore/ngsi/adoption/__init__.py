"""The adoption of tables that Cygnus, or a program like it, has filled with samples."""
