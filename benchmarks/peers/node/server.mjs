// One server in JavaScript: node server.mjs PEER PORT DATA.json SCHEMA.graphql [ENDPOINT TABLE]
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import DataLoader from "dataloader";
import { memorySource, storeSource } from "./sources.mjs";

const [peer, port, data, sdl, endpoint, table] = process.argv.slice(2);
const source = endpoint
  ? storeSource(endpoint, table)
  : memorySource(JSON.parse(readFileSync(data, "utf8")));
const typeDefs = readFileSync(sdl, "utf8");
const resolvers = {
  Query: {
    item: (_, { id }) => source.item(id),
    items: (_, { first }) => source.items(first),
    page: (_, { first, after }) => source.page(first, after),
  },
  Item: {
    owner: (item, _, { owners }) => owners.load(item.ownerId),
    parts: (item, { first, after }) => source.parts(item.id, first, after),
  },
};
const context = () => ({ owners: new DataLoader((ids) => source.owners(ids)) });
const listening = { host: "127.0.0.1", port: Number(port) };

const peers = {
  async apollo() {
    const { ApolloServer } = await import("@apollo/server");
    const { startStandaloneServer } = await import("@apollo/server/standalone");
    const server = new ApolloServer({ typeDefs, resolvers });
    await startStandaloneServer(server, { listen: listening, context: async () => context() });
  },
  async yoga() {
    const { createSchema, createYoga } = await import("graphql-yoga");
    const { useGraphQlJit } = await import("@envelop/graphql-jit");
    const yoga = createYoga({
      schema: createSchema({ typeDefs, resolvers }),
      context,
      plugins: [useGraphQlJit()],
      graphiql: false,
      landingPage: false,
      logging: false,
    });
    createServer(yoga).listen(listening);
  },
  async mercurius() {
    const { default: Fastify } = await import("fastify");
    const { default: mercurius } = await import("mercurius");
    const app = Fastify();
    const persistedQueryProvider = mercurius.persistedQueryDefaults.automatic();
    app.register(mercurius, {
      schema: typeDefs,
      resolvers,
      jit: 1,
      context,
      persistedQueryProvider,
    });
    await app.listen(listening);
  },
  async grafast() {
    const { serveGrafast } = await import("./grafast.mjs");
    await serveGrafast(typeDefs, source, listening);
  },
};

await peers[peer]();
