"""Finding and mending rows and counts that differ from the things that they are made of."""
