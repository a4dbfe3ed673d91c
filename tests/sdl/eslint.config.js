// The rules that schema.graphql keeps, for whoever reads it in GraphiQL or generates a client from it.
import plugin from "@graphql-eslint/eslint-plugin";

const rule = (name, options) => [`@graphql-eslint/${name}`, ["error", ...(options ? [options] : [])]];

// Values: equal where their fields are, and found only as a part of something that has an id.
const VALUES = [
  "AudioLibrary",
  "AudioLink",
  "Change",
  "ClaimedDataset",
  "DatasetColumn",
  "DatasetContent",
  "EvaluationError",
  "ExecutionAttempt",
  "ExecutionCount",
  "ExecutionEvent",
  "ExecutionInput",
  "ExecutionListEvent",
  "ExecutionPin",
  "ExecutionProgress",
  "ExecutionQueue",
  "ExplainedPart",
  "Explanation",
  "FieldProblem",
  "FileDownload",
  "FileTrack",
  "FormulaPosition",
  "FormulaValue",
  "Genre",
  "GroupRole",
  "HistoryEntry",
  "ImportFailure",
  "InlineResults",
  "JobQueue",
  "NgsiAttribute",
  "NgsiBucket",
  "NgsiCounts",
  "NgsiDeadEntity",
  "NgsiDestination",
  "NgsiEntity",
  "NgsiNamingRules",
  "NgsiPreview",
  "NgsiReplayed",
  "NgsiSample",
  "NgsiService",
  "NgsiServicePath",
  "Output",
  "PageInfo",
  "Parameter",
  "PipelineEvent",
  "Play",
  "PlayQueue",
  "PlaylistFile",
  "Problem",
  "Quota",
  "RowProblem",
  "RunCount",
  "RunEvent",
  "Setting",
  "SignedUrl",
  "SinkBacklog",
  "System",
  "Tag",
  "TagKey",
  "TagValue",
  "Transform",
  "Transformer",
  "UnmatchedTrack",
  "UploadField",
  "UploadForm",
  "Viewer",
  "Worker",
];

// What a mutation answers instead of its payload.
const FAILURES = [
  "DuplicateObject",
  "IllegalState",
  "LimitExceeded",
  "NameTaken",
  "NotFound",
  "NotPermitted",
  "QuotaExceeded",
  "ValidationProblem",
  "VersionConflict",
];

export default [
  {
    files: ["**/*.graphql"],
    plugins: { "@graphql-eslint": plugin },
    languageOptions: {
      parser: plugin.parser,
      parserOptions: { graphQLConfig: { schema: "schema.graphql" } },
    },
    rules: {
      ...plugin.configs["flat/schema-recommended"].rules,
      ...plugin.configs["flat/schema-relay"].rules,
      ...Object.fromEntries([
        rule("input-name"),
        rule("no-scalar-result-type-on-mutation"),
        rule("require-nullable-fields-with-oneof"),
        // Not asked for: values of enums; what its type says already (a payload, a mutation's input).
        rule("require-description", {
          types: true,
          DirectiveDefinition: true,
          FieldDefinition: true,
          InputValueDefinition: true,
          ignoredSelectors: [
            "[type=FieldDefinition][parent.name.value=/Payload$/]",
            "[type=InputValueDefinition][name.value=input]",
          ],
        }),
        rule("strict-id-in-types", {
          exceptions: { types: [...VALUES, ...FAILURES], suffixes: ["Connection", "Edge", "Payload"] },
        }),
        // The document of the manifest calls it RunId, and so does whoever reads or writes one.
        ["@graphql-eslint/no-typename-prefix", ["off"]],
        // Tags in use are counted values and no nodes; bounded lists of values need no pages.
        rule("relay-edge-types", { listTypeCanWrapOnlyEdgeType: false, shouldImplementNode: false }),
      ]),
    },
  },
];
