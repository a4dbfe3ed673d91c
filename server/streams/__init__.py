"""GraphQL over WebSocket and over server-sent events."""
