// Finds pipelines by their tags, creates one, updates it although somebody else did, and deletes it.
//   node dist/main.js http://127.0.0.1:8000/graphql TOKEN
import { randomUUID } from "node:crypto";

import { CombinedError, createClient, fetchExchange } from "@urql/core";
import type { Client, OperationResult } from "@urql/core";

import {
  CreatePipelineDocument,
  DeletePipelineDocument,
  FindPipelinesDocument,
  UpdatePipelineDocument,
} from "./generated/graphql.js";
import type {
  FindPipelinesQueryVariables,
  PipelineHeadFragment,
  TagInput,
  TransformerInput,
} from "./generated/graphql.js";

const WANTED: TagInput[] = [
  { key: "source", value: "SAP" },
  { key: "material", value: "material/metal" },
];
const TRANSFORMER: TransformerInput = {
  parameters: [{ index: 0, key: "distance", type: "NUMBER", required: true }],
  transforms: [
    { index: 0, formula: ":distance*0.024", outputs: [{ index: 0, key: "co2e", type: "NUMBER" }] },
  ],
};

/** A failure that the schema foresees and that this program cannot mend. */
class Refused extends Error {}

/** The data of an answer; throws where there was none, such as without a network or a valid token. */
function dataOf<Data>({ data, error }: OperationResult<Data>): Data {
  if (error || data === undefined) throw error ?? new Error("an answer without data");
  return data;
}

async function* find(client: Client, tags: TagInput[]): AsyncGenerator<PipelineHeadFragment> {
  let after: string | null = null;
  for (;;) {
    const variables: FindPipelinesQueryVariables = { tags, after };
    const { pipelines } = dataOf(await client.query(FindPipelinesDocument, variables));
    yield* pipelines.nodes;
    // A page may be short, even empty, and not be the last one.
    if (!pipelines.pageInfo.hasNextPage) return;
    after = pipelines.pageInfo.endCursor;
  }
}

async function create(client: Client, name: string): Promise<PipelineHeadFragment> {
  const input = {
    name,
    tags: [{ key: "client", value: "typescript" }],
    transformer: TRANSFORMER,
    // Were the answer lost, the same call again would give the pipeline that this one made.
    idempotencyKey: randomUUID(),
  };
  const { createPipeline } = dataOf(await client.mutation(CreatePipelineDocument, { input }));
  switch (createPipeline.__typename) {
    case "CreatePipelinePayload":
      return createPipeline.pipeline;
    case "ValidationProblem": {
      const problems = createPipeline.problems.map((one) => `${one.path.join(".")} ${one.message}`);
      throw new Refused(problems.join("; "));
    }
    default:
      throw new Refused(createPipeline.message);
  }
}

/** Describe a pipeline that was seen at a version; where it has moved on, do it all the same. */
async function describe(
  client: Client,
  id: string,
  expectedVersion: number,
  description: string,
): Promise<PipelineHeadFragment> {
  const input = { id, expectedVersion, description };
  const { updatePipeline } = dataOf(await client.mutation(UpdatePipelineDocument, { input }));
  switch (updatePipeline.__typename) {
    case "UpdatePipelinePayload":
      return updatePipeline.pipeline;
    case "VersionConflict": {
      const { currentVersion } = updatePipeline;
      console.log(`conflict: version ${expectedVersion} was seen, ${currentVersion} is current`);
      return describe(client, id, currentVersion, description);
    }
    default:
      throw new Refused(updatePipeline.message);
  }
}

async function remove(client: Client, { id, version }: PipelineHeadFragment): Promise<void> {
  const input = { id, expectedVersion: version };
  const { deletePipeline } = dataOf(await client.mutation(DeletePipelineDocument, { input }));
  if (deletePipeline.__typename !== "DeletePipelinePayload") {
    throw new Refused(deletePipeline.message);
  }
}

async function main(url: string, token: string): Promise<void> {
  const client = createClient({
    url,
    exchanges: [fetchExchange],
    preferGetMethod: false,
    fetchOptions: { headers: { Authorization: `Bearer ${token}` } },
  });

  console.log(`pipelines with ${WANTED.map((tag) => `${tag.key}=${tag.value}`).join(" and ")}:`);
  for await (const { name, version } of find(client, WANTED)) {
    console.log(`- ${name}, version ${version}`);
  }

  const seen = await create(client, "Rail freight (TypeScript)");
  console.log(`created ${seen.name}, version ${seen.version}`);
  const theirs = await describe(client, seen.id, seen.version, "By somebody else.");
  console.log(`updated, version ${theirs.version}`);
  const ours = await describe(client, seen.id, seen.version, "Freight that goes by rail.");
  console.log(`updated, version ${ours.version}`);
  await remove(client, ours);
  console.log("deleted");
}

const [url, token] = process.argv.slice(2);
if (url === undefined || token === undefined) {
  console.error("usage: node dist/main.js URL TOKEN");
  process.exitCode = 2;
} else {
  try {
    await main(url, token);
  } catch (error) {
    if (!(error instanceof Refused || error instanceof CombinedError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
