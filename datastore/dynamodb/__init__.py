"""The table port over DynamoDB, or over anything that speaks its JSON protocol."""
