"""The audit trail: who gave and took rights, deleted, changed states and keys, and from where."""
