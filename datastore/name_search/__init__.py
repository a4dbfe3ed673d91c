"""The search by parts of names: words of names, filters by them, and the rows that find them."""
