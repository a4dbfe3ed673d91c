import { createGraphiQLFetcher } from "@graphiql/toolkit";
import { withAuthorization } from "./devtoken.js";

/** A fetcher whose headers are also the payload of a subscription's connection_init. */
export function createFetcher({ endpoint, subscriptionUrl, devToken }, outdated) {
  const fetcher = createGraphiQLFetcher({
    url: new URL(endpoint, location.href).href,
    subscriptionUrl: socketUrl(subscriptionUrl),
    headers: { "X-Penstock-Request": "graphiql" },
    enableIncrementalDelivery: false,
  });
  return (params, options) =>
    fetcher(params, {
      ...options,
      headers: withAuthorization(options?.headers, outdated, devToken),
    });
}

function socketUrl(path) {
  const url = new URL(path, location.href);
  url.protocol = url.protocol.replace(/^http/, "ws");
  return url.href;
}
