import {
  keepPreviousData,
  QueryClient,
  type QueryFilters,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { createContext, useContext, useEffect, useEffectEvent, useState } from "react";
import type { Operation } from "../graphql/operation";
import type { Api } from "./api";
import { Failure, isConnectionLost } from "./failure";
import type { Live } from "./live";

export interface Services {
  readonly api: Api;
  readonly live: Live;
}

export const ServicesContext = createContext<Services | null>(null);

export function useServices(): Services {
  const services = useContext(ServicesContext);
  if (services === null) throw new Error("outside of the signed-in console");
  return services;
}

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // A lost connection is tried again until it is back; a refusal stays one.
        retry: (_, error) => isConnectionLost(error),
        retryDelay: 1000,
        networkMode: "always",
        refetchOnWindowFocus: false,
        staleTime: 2_000,
      },
      mutations: { networkMode: "always" },
    },
  });
}

interface AskOptions {
  enabled?: boolean;
  /** Show the answer to the earlier variables until the new one is there. */
  keep?: boolean;
  /** Ask again after so many milliseconds. */
  every?: number;
}

/** The answer to an operation. */
export function useAnswer<Data, Variables>(
  operation: Operation<Data, Variables>,
  variables: Variables,
  { enabled = true, keep = false, every }: AskOptions = {},
) {
  const { api } = useServices();
  return useQuery<Data, Failure>({
    queryKey: [operation.name, variables],
    queryFn: ({ signal }) => api.run(operation, variables, signal),
    enabled,
    ...(keep ? { placeholderData: keepPreviousData } : {}),
    ...(every ? { refetchInterval: every } : {}),
  });
}

/** What the shown answer was asked with: while an earlier one is kept, what that one was asked with. */
export function useShownWith<Asked>(
  asked: Asked,
  { isPlaceholderData }: { isPlaceholderData: boolean },
) {
  const [shown, setShown] = useState(asked);
  if (isPlaceholderData) return shown;
  if (JSON.stringify(shown) !== JSON.stringify(asked)) setShown(asked);
  return asked;
}

interface Connection<Node> {
  nodes: Node[];
  pageInfo: { hasNextPage: boolean; endCursor?: string | null };
}

/** A list page by page, each asked for when the one before is at its end. */
export function usePages<Data, Variables, Node>(
  operation: Operation<Data, Variables>,
  variables: NoInfer<Omit<Variables, "after">>,
  connectionOf: (data: Data) => Connection<Node> | null | undefined,
  { enabled = true, keep = true, every }: AskOptions = {},
) {
  const { api } = useServices();
  const key = [operation.name, variables, "pages"];
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      api.run(operation, { ...variables, after: pageParam } as Variables, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last: Data) => {
      const info = connectionOf(last)?.pageInfo;
      return info?.hasNextPage ? info.endCursor : undefined;
    },
    enabled,
    ...(keep ? { placeholderData: keepPreviousData } : {}),
    ...(every ? { refetchInterval: every } : {}),
  });
  const nodes = query.data?.pages.flatMap((page) => connectionOf(page)?.nodes ?? []);
  return { ...query, nodes, key };
}

/**
 * Read all that is shown again. The answer to a first question that is still to come may be from
 * before what happened, and a query waits for that answer: so it is asked again behind it.
 */
export async function readAgain(client: QueryClient, filters: QueryFilters = {}): Promise<void> {
  const begun = client
    .getQueryCache()
    .findAll({ ...filters, fetchStatus: "fetching" })
    .filter(({ state }) => state.data === undefined)
    .map(({ queryHash }) => queryHash);
  /* oxlint-disable no-restricted-properties */
  await client.invalidateQueries(filters);
  if (begun.length > 0) {
    await client.invalidateQueries({ predicate: ({ queryHash }) => begun.includes(queryHash) });
  }
  /* oxlint-enable no-restricted-properties */
}

/**
 * A mutation; when it is done, all that is shown is asked again. What follows from it in the page
 * comes before that: what the answers change may not hold the caller any more.
 */
export function useAction<Data, Variables>(
  operation: Operation<Data, Variables>,
  unwrap: (data: Data) => unknown = () => null,
  onDone: (data: Data, variables: Variables) => void = () => undefined,
) {
  const { api } = useServices();
  const client = useQueryClient();
  return useMutation<Data, Failure, Variables>({
    mutationFn: async (variables) => {
      const data = await api.run(operation, variables);
      unwrap(data);
      return data;
    },
    onSuccess: (data, variables) => {
      onDone(data, variables);
      return readAgain(client);
    },
  });
}

/** Run a subscription while the component is shown; the first of what it says is marked. */
export function useLive<Data, Variables extends Record<string, unknown>>(
  operation: Operation<Data, Variables>,
  variables: Variables,
  onData: (data: Data, isFirst: boolean) => void,
  enabled = true,
) {
  const { live } = useServices();
  const handle = useEffectEvent(onData);
  const key = JSON.stringify(variables);
  useEffect(() => {
    if (!enabled) return undefined;
    let isOver = false;
    let stop: () => void = () => undefined;
    let timer: number | undefined;
    let isFirst = true;
    const begin = () => {
      stop = live.subscribe(
        operation,
        JSON.parse(key) as Variables,
        (data) => {
          handle(data, isFirst);
          isFirst = false;
        },
        () => {
          if (!isOver) timer = window.setTimeout(begin, 2_000);
        },
      );
    };
    begin();
    return () => {
      isOver = true;
      window.clearTimeout(timer);
      stop();
    };
  }, [live, operation, key, enabled]);
}
