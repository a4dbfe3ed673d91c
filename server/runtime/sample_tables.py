"""Opens the tables of samples at DynamoDB, with the sink's own credentials and region."""

from penstock.datastore.ngsi.dynamodb_destinations import DynamoDBDestinations
from penstock.server.settings.settings import Settings


async def open_sample_tables(settings: Settings) -> DynamoDBDestinations:
    return await DynamoDBDestinations.open(
        region=settings.ngsi_region,
        endpoint_url=settings.endpoint_url,
        key=settings.access_key,
        kind=settings.dynamodb_client,
    )
