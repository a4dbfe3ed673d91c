"""The GraphQL types of the system: its workers, its queues, and what is stuck."""
