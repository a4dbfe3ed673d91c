import { createGraphiQLFetcher } from "@graphiql/toolkit";
import { withAuthorization } from "./session.js";

/** A fetcher whose headers are also the payload of a subscription's connection_init. */
export function createFetcher({ endpoint, subscriptionUrl }, session) {
  const fetcher = createGraphiQLFetcher({
    url: new URL(endpoint, location.href).href,
    subscriptionUrl: socketUrl(subscriptionUrl),
    headers: { "X-Penstock-Request": "graphiql" },
    enableIncrementalDelivery: false,
  });
  return async (params, options) =>
    fetcher(params, {
      ...options,
      headers: withAuthorization(options?.headers, await session.token()),
    });
}

function socketUrl(path) {
  const url = new URL(path, location.href);
  url.protocol = url.protocol.replace(/^http/, "ws");
  return url.href;
}
