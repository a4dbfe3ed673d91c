// Where the servers in JavaScript find the records: in memory, or in DynamoDB by the AWS SDK.
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  BatchGetCommand,
  DynamoDBDocumentClient,
  GetCommand,
  QueryCommand,
} from "@aws-sdk/lib-dynamodb";

function connection(nodes, first, after) {
  const edges = nodes.slice(0, first).map((node) => ({ cursor: node.id, node }));
  return {
    edges,
    pageInfo: {
      hasNextPage: nodes.length > first,
      hasPreviousPage: after != null,
      startCursor: edges.length ? edges[0].cursor : null,
      endCursor: edges.length ? edges[edges.length - 1].cursor : null,
    },
  };
}

export function memorySource(data) {
  const items = new Map(data.items.map((item) => [item.id, item]));
  const places = new Map(data.items.map((item, place) => [item.id, place + 1]));
  const owners = new Map(data.owners.map((owner) => [owner.id, owner]));
  return {
    item: (id) => items.get(id) ?? null,
    items: (first) => data.items.slice(0, first),
    owners: async (ids) => ids.map((id) => owners.get(id)),
    page(first, after) {
      const start = after == null ? 0 : places.get(after);
      return connection(data.items.slice(start, start + first + 1), first, after);
    },
    parts(item, first, after) {
      const found = data.parts[item].filter((part) => after == null || part.id > after);
      return connection(found.slice(0, first + 1), first, after);
    },
  };
}

export function storeSource(endpoint, table) {
  const client = DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint }));
  async function rows(partition, limit, after) {
    const found = await client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": partition },
        Limit: limit,
        ...(after == null ? {} : { ExclusiveStartKey: { pk: partition, sk: after } }),
      }),
    );
    return found.Items;
  }
  return {
    async item(id) {
      const Key = { pk: `ITEM#${id}`, sk: "ITEM" };
      const found = await client.send(new GetCommand({ TableName: table, Key }));
      return found.Item ?? null;
    },
    items: (first) => rows("LIST", first),
    async owners(ids) {
      const Keys = ids.map((id) => ({ pk: `OWNER#${id}`, sk: "OWNER" }));
      const answer = await client.send(new BatchGetCommand({ RequestItems: { [table]: { Keys } } }));
      const found = new Map(answer.Responses[table].map((row) => [row.id, row]));
      return ids.map((id) => found.get(id));
    },
    async page(first, after) {
      return connection(await rows("LIST", first + 1, after), first, after);
    },
    async parts(item, first, after) {
      return connection(await rows(`PARTS#${item}`, first + 1, after), first, after);
    },
  };
}
