// Grafast's server: the schema as plans of whole operations, over the same records.
import { createServer } from "node:http";
import { get, list, loadOne, makeGrafastSchema } from "grafast";
import { grafserv } from "grafserv/node";

export async function serveGrafast(typeDefs, source, listening) {
  const pages = (read) => (asked) => Promise.all(asked.map((one) => read(...one)));
  const items = async (ids) => Promise.all(ids.map((id) => source.item(id)));
  const lists = async (sizes) => Promise.all(sizes.map((first) => source.items(first)));
  const [page, parts] = [pages(source.page), pages(source.parts)];
  const schema = makeGrafastSchema({
    typeDefs,
    objects: {
      Query: {
        plans: {
          item: (_, { $id }) => loadOne($id, items),
          items: (_, { $first }) => loadOne($first, lists),
          page: (_, { $first, $after }) => loadOne(list([$first, $after]), page),
        },
      },
      Item: {
        plans: {
          owner: ($item) => loadOne(get($item, "ownerId"), source.owners),
          parts: ($item, { $first, $after }) =>
            loadOne(list([get($item, "id"), $first, $after]), parts),
        },
      },
    },
  });
  const server = createServer();
  const preset = { grafserv: { graphiql: false, websockets: false }, grafast: { explain: false } };
  await grafserv({ schema, preset }).addTo(server);
  server.listen(listening);
}
