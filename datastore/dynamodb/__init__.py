"""The table port over DynamoDB, or over anything that speaks its JSON protocol."""

from datastore.dynamodb.store import DynamoDBTable

__all__ = ["DynamoDBTable"]
