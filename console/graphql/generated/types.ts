// Written by `npm run generate`; do not edit.

/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> =
  T | { [P in keyof T]?: P extends " $fragmentName" | "__typename" ? T[P] : never };
/** The end of a worker's attempt. */
export type AttemptOutcome =
  /** The attempt goes on. */
  | "RUNNING"
  /** The worker wrote the result. */
  | "SUCCEEDED"
  /** The worker, or the system, ended the execution as failed. */
  | "FAILED"
  /** A user cancelled the execution. */
  | "CANCELLED"
  /** The worker sent no heartbeat for too long, and another one took over. */
  | "LOST";

/** The execution to cancel. */
export type CancelExecutionInput = {
  /** The global id of the execution. */
  id: string;
};

/** The kind of change to a value, with the operation names of JSON Patch (RFC 6902). */
export type ChangeOperation =
  /** The value was added in the second version. */
  | "ADD"
  /** The value was removed in the second version. */
  | "REMOVE"
  /** The value of the first version was replaced in the second version. */
  | "REPLACE";

/** The execution to create, with its pipeline and mode. */
export type CreateExecutionInput = {
  /** The global id of the pipeline. */
  pipelineId: string;
  /** The way in which the execution receives its input: with JOB the input is uploaded as a file, with INLINE the rows are given here and executed at once. */
  mode?: ExecutionMode | null | undefined;
  /** The input rows, required with INLINE and not allowed with JOB: at most 1,000 objects with the labels or keys of the parameters as keys; missing entries are null. */
  rows?: Array<unknown> | null | undefined;
  /** The tags by which the execution can be found: at most 30, or 18 of two levels each, with different keys. A tag takes one write and two for each level of its value; all tags take 92 at most. */
  tags?: Array<TagInput> | null | undefined;
  /** The execution fails if more rows than this fail; there is no limit if left out. */
  maxFailedRows?: number | null | undefined;
  /** The name of the input, such as that of its file, for people: 1 to 255 characters. */
  inputName?: string | null | undefined;
  /** A key that makes it safe to send the request again: the same key with the same input gives the same execution for a day. */
  idempotencyKey?: string | null | undefined;
};

/** The pipeline to delete. */
export type DeletePipelineInput = {
  /** The global id of the pipeline. */
  id: string;
  /** The number of the current version. If another number is given, nothing changes. The default is not to check. */
  expectedVersion?: number | null | undefined;
};

/** The status of a file that can be downloaded. */
export type DownloadStatus =
  /** The file can be downloaded now. */
  | "READY"
  /** The file cannot be downloaded yet; it may exist later. */
  | "NOT_READY"
  /** The file no longer exists or never will. */
  | "GONE";

/** A calculation that is not saved. It is checked by the same rules as one that is saved. */
export type DraftCalculationInput = {
  /** The formula that computes the value of the first output. */
  formula: string;
  /** The parameters of the formula. The formula must use each of them. The default is none. */
  parameters?: Array<ParameterInput> | null | undefined;
  /** The outputs that the calculation fills. */
  outputs: Array<OutputInput>;
};

/** The codes of all failures and errors. New codes may be added. */
export type ErrorCode =
  /** The manifest run was loaded before, so it is neither claimed nor skipped. */
  | "ALREADY_LOADED"
  /** The request is not a well-formed GraphQL request. */
  | "BAD_REQUEST"
  /** A value in the request is not valid. */
  | "BAD_USER_INPUT"
  /** The resource changed since the caller read it. */
  | "CONFLICT"
  /** A GET request came without a header that protects against forged requests. */
  | "CSRF_PREVENTED"
  /** The caller's library already contains the object of the bucket. */
  | "DUPLICATE_OBJECT"
  /** The caller may see the object but may not do this to it. */
  | "FORBIDDEN"
  /** The table of the destination belongs to another program. */
  | "FOREIGN_TABLE"
  /** The document has a syntax error. */
  | "GRAPHQL_PARSE_FAILED"
  /** The document does not match the schema. */
  | "GRAPHQL_VALIDATION_FAILED"
  /** The state of the object does not allow the change. */
  | "ILLEGAL_STATE"
  /** An unexpected error happened in the server. */
  | "INTERNAL_SERVER_ERROR"
  /** The server does not let the caller read its schema. */
  | "INTROSPECTION_DISABLED"
  /** Another worker holds a lease of the manifest run. */
  | "LEASE_HELD"
  /** The worker no longer holds the lease of the manifest run. */
  | "LEASE_LOST"
  /** The change would exceed a documented limit. */
  | "LIMIT_EXCEEDED"
  /** The URL does not support the HTTP method. */
  | "METHOD_NOT_ALLOWED"
  /** Another resource of the same kind has the name. */
  | "NAME_TAKEN"
  /** The server has no response format that the client accepts. */
  | "NOT_ACCEPTABLE"
  /** The object does not exist, or the caller may not know that it exists. */
  | "NOT_FOUND"
  /** The request does not say which operation of the document to run. */
  | "OPERATION_RESOLUTION_FAILURE"
  /** The folder of the manifest run holds a `_SUCCESS` file, so its output is complete. */
  | "OUTPUT_EXISTS"
  /** The folder of the manifest run holds no `_SUCCESS` file, so its output is not complete. */
  | "OUTPUT_MISSING"
  /** The request is larger than the server allows. */
  | "PAYLOAD_TOO_LARGE"
  /** The server has no document with this id. */
  | "PERSISTED_QUERY_NOT_FOUND"
  /** The server does not support documents that are named by an id. */
  | "PERSISTED_QUERY_NOT_SUPPORTED"
  /** The operation could read more than the server allows. */
  | "QUERY_TOO_COMPLEX"
  /** The operation nests more levels than the server allows. */
  | "QUERY_TOO_DEEP"
  /** The document is larger than the server allows. */
  | "QUERY_TOO_LARGE"
  /** A group or a user would keep more than it may. */
  | "QUOTA_EXCEEDED"
  /** The caller sent more requests than the server allows in this time. */
  | "RATE_LIMITED"
  /** The manifest run is marked, so that no worker claims it. */
  | "RUN_SKIPPED"
  /** The store did not answer in time; the client can try again later. */
  | "SERVICE_UNAVAILABLE"
  /** The request took longer than the server allows. */
  | "TIMEOUT"
  /** The request has no valid credentials. */
  | "UNAUTHENTICATED"
  /** The object is stored in a form that this release of the server cannot read. */
  | "UNREADABLE"
  /** The server does not read bodies of this media type. */
  | "UNSUPPORTED_MEDIA_TYPE";

/** The calculation to evaluate, and the rows to evaluate it for. Give exactly one of `id`, `name` and `draft`. */
export type EvaluateInput = {
  /** The global id of a saved calculation. */
  id?: string | null | undefined;
  /** The name of a saved calculation, as the group sees it. Upper and lower case are the same. */
  name?: string | null | undefined;
  /** A calculation that is not saved. It sees the calculations and reference datasets that the group sees. */
  draft?: DraftCalculationInput | null | undefined;
  /** The path of the group for `name` and `draft`. The default is the caller's default group. */
  group?: string | null | undefined;
  /** The number of the version to evaluate. The default is the latest version. A draft has no versions. */
  version?: number | null | undefined;
  /** The rows to evaluate, at most 1000. Each gives the inputs of the formula by the keys of its parameters. */
  rows: Array<unknown>;
};

/** The kind of an event in the history of an execution. */
export type ExecutionHappening =
  /** The execution was created. */
  | "CREATED"
  /** The input was uploaded completely. */
  | "UPLOADED"
  /** A worker claimed the execution. */
  | "CLAIMED"
  /** A worker claimed the execution from a worker that had stopped sending heartbeats. */
  | "TAKEN_OVER"
  /** The execution ended in success. */
  | "SUCCEEDED"
  /** The execution ended in failure. */
  | "FAILED"
  /** A user cancelled the execution. */
  | "CANCELLED"
  /** A user started the execution again from the beginning. */
  | "RETRIED";

/** The way in which an execution receives its input. */
export type ExecutionMode =
  /** The input is a file that is uploaded, and workers run the execution in the background. */
  | "JOB"
  /** The input rows are part of the request, and the execution runs at once. */
  | "INLINE";

/** The order of a list of executions. */
export type ExecutionOrder =
  /** The executions that were created last come first. */
  | "NEWEST_FIRST"
  /** The executions that were created first come first. */
  | "OLDEST_FIRST"
  /** The executions that ended last come first; those that have not ended are left out. */
  | "ENDED_LAST";

/** The state of an execution. */
export type ExecutionState =
  /** The execution waits for its input or for a worker. */
  | "WAITING"
  /** A worker is running the execution. */
  | "IN_PROGRESS"
  /** The execution has ended and its output is available; some rows may have failed. */
  | "SUCCESS"
  /** The execution has ended without an output, and its code names the reason. */
  | "FAILED"
  /** A user has cancelled the execution. */
  | "CANCELLED";

/** The type of a value that a formula gives. */
export type FormulaValueType =
  /** An exact decimal number. */
  | "NUMBER"
  /** A string of characters. */
  | "TEXT"
  /** Either true or false. */
  | "BOOLEAN"
  /** A list of values. */
  | "LIST"
  /** The absence of a value. */
  | "NULL";

/** The pipeline to share and the group to share it with. */
export type GrantPipelineInput = {
  /** The global id of the pipeline. */
  id: string;
  /** The path of the group that gains access, together with all groups below it. */
  group: string;
};

/** The kind of an entry of the history. */
export type HistoryAction =
  /** A group got access to the resource. */
  | "GRANTED"
  /** A group lost its own grant of the resource. */
  | "REVOKED"
  /** The state of the resource was set. */
  | "STATE_CHANGED"
  /** The resource was deleted. */
  | "DELETED"
  /** The group was deleted, or its deletion with everything in it was requested. */
  | "GROUP_DELETED"
  /** A user created an API key with a role at the group. */
  | "API_KEY_CREATED"
  /** A user revoked an API key with a role at the group. */
  | "API_KEY_REVOKED";

/** The kind of an event of a list. */
export type ListChange =
  /** The object is new in the list, or it changed. */
  | "CHANGED"
  /** The object is gone, or no longer in the list. */
  | "REMOVED"
  /** Read the list now, because the events tell of later changes only. It is the first event, and comes again where the client read too slowly or resumed too late. */
  | "RESET";

/** A part of a name: exactly one of both fields is given. Upper and lower case are the same, and so are letters with and without accents. A word is a run of letters and digits; names are found by the first 8 different ones. */
export type NameFilter = {
  /** The beginning of the whole name, with at most 128 characters. */
  startsWith?: string | null | undefined;
  /** Beginnings of words of the name, in any order: `rep sal` finds `Sales report`. It has at most 128 characters. */
  contains?: string | null | undefined;
};

/** The order of a list by the time of creation. */
export type Order =
  /** The entries that were created last come first. */
  | "NEWEST_FIRST"
  /** The entries that were created first come first. */
  | "OLDEST_FIRST";

/** A column of the output. */
export type OutputInput = {
  /** The position, counted from 0. The entries of a list are given in the order of their positions. */
  index: number;
  /** The name, of 1 to 128 characters. No two entries have the same name. */
  key?: string | null | undefined;
  /** The heading to show to people, of at most 256 characters. */
  label?: string | null | undefined;
  /** The meaning of the column, for people, of at most 2048 characters. */
  description?: string | null | undefined;
  /** The type of the values in the column. */
  type: ValueType;
};

/** A column of the input. */
export type ParameterInput = {
  /** The position, counted from 0. The entries of a list are given in the order of their positions. */
  index: number;
  /** The name, of 1 to 128 characters. No two entries have the same name. Formulas use it as `:key`. */
  key: string;
  /** The heading to show to people, of at most 256 characters. */
  label?: string | null | undefined;
  /** The meaning of the column, for people, of at most 2048 characters. */
  description?: string | null | undefined;
  /** The type of the values in the column. */
  type: ValueType;
  /** Whether every row must have a value in this column. The default is false. */
  required?: boolean;
};

/** The kind of resource that has the tags. */
export type ResourceKind =
  /** The tags are on pipelines. */
  | "PIPELINE"
  /** The tags are on calculations. */
  | "CALCULATION"
  /** The tags are on reference datasets. */
  | "REFERENCE_DATASET";

/** The execution to retry. */
export type RetryExecutionInput = {
  /** The global id of the execution. */
  id: string;
};

/** The pipeline and the group that loses its grant. */
export type RevokePipelineInput = {
  /** The global id of the pipeline. */
  id: string;
  /** The path of the group whose own grant is removed. A grant that the group inherits stays. */
  group: string;
};

/** The role of a caller at a group and at all groups below it. Each role includes the roles before it. */
export type Role =
  /** The caller can read the resources of the group. */
  | "READER"
  /** The caller can also create and update resources of the group. */
  | "CONTRIBUTOR"
  /** The caller can also grant, revoke and delete resources of the group, and create and delete groups. */
  | "ADMIN";

/** The execution to start; its input has been uploaded. */
export type StartExecutionInput = {
  /** The global id of the execution. */
  id: string;
};

/** The state of a resource. It decides whether the resource can be used and changed. */
export type State =
  /** The resource can be used and changed. */
  | "ENABLED"
  /** Other resources can use the resource, but it can be neither run by itself nor changed. */
  | "FROZEN"
  /** The resource can be read, but it can be neither used nor changed. */
  | "DISABLED";

/** The tags that resources must have: every tag in `all`, at least one in `any` and not one in `none`. A value also matches the values below it: `material` matches `material/metal/steel`. The three lists hold at most 20 tags together. */
export type TagFilter = {
  /** The tags that a resource must all have. The default is no restriction. */
  all?: Array<TagInput> | null | undefined;
  /** The tags of which a resource must have at least one. The default and an empty list are no restriction. */
  any?: Array<TagInput> | null | undefined;
  /** The tags of which a resource must have none. The default is no restriction. */
  none?: Array<TagInput> | null | undefined;
};

/** A key and a value that mark a resource, so that it can be found. A value can have levels, separated by `/`. */
export type TagInput = {
  /** The key, of 1 to 128 characters. */
  key: string;
  /** The value, of 1 to 10 levels with 1 to 128 characters each. */
  value: string;
};

/** A formula and the output column that it fills. */
export type TransformInput = {
  /** The position, counted from 0. The entries of a list are given in the order of their positions. */
  index: number;
  /** The formula, of 1 to 16384 characters. */
  formula: string;
  /** The output column that the formula fills: exactly one, with the index 0. */
  outputs: Array<OutputInput>;
};

/** The parameters and formulas that turn an input row into an output row. */
export type TransformerInput = {
  /** The columns of the input, at most 200. */
  parameters: Array<ParameterInput>;
  /** The formulas, 1 to 200. */
  transforms: Array<TransformInput>;
};

/** The changes to make to a pipeline. A field that is left out keeps its value, and null clears the value. */
export type UpdatePipelineInput = {
  /** The number of the version on which the changes are based. If it is not the current one, nothing changes. */
  expectedVersion: number;
  /** The name, of 1 to 128 characters. No other resource of the kind has it in the same group, in a group above it or in a group below it. */
  name?: string | null | undefined;
  /** The purpose of the resource, for people, of at most 8192 characters. */
  description?: string | null | undefined;
  /** The tags by which the resource is found: at most 50, with different keys. */
  tags?: Array<TagInput> | null | undefined;
  /** The new state. While a resource is not enabled, only its state can change. */
  state?: State | null | undefined;
  /** The global id of the pipeline. */
  id: string;
  /** A JSON object with further values that users keep with the pipeline. */
  attributes?: unknown;
  /** The parameters and formulas that turn an input row into an output row. */
  transformer?: TransformerInput | null | undefined;
};

/** The type of the values of a column. */
export type ValueType =
  /** A string of characters. */
  | "STRING"
  /** An exact decimal number. */
  | "NUMBER"
  /** Either true or false. */
  | "BOOLEAN"
  /** A point in time, as text. */
  | "TIMESTAMP";

export type GroupChoicesQueryVariables = Exact<{
  path: string;
}>;

export type GroupChoicesQuery = {
  group: { path: string; children: { nodes: Array<{ path: string }> } } | null;
};

export type FindCalculationQueryVariables = Exact<{
  name: string;
  group?: string | null | undefined;
}>;

export type FindCalculationQuery = {
  calculationByName: { id: string; name: string; owner: string; version: number } | null;
};

export type FindDatasetQueryVariables = Exact<{
  name: string;
  group?: string | null | undefined;
}>;

export type FindDatasetQuery = {
  referenceDatasetByName: { id: string; name: string; owner: string; version: number } | null;
};

type Refusal_DuplicateObject_Fragment = {
  message: string;
  code: ErrorCode;
  path: Array<string> | null;
};

type Refusal_IllegalState_Fragment = {
  message: string;
  code: ErrorCode;
  path: Array<string> | null;
};

type Refusal_LimitExceeded_Fragment = {
  message: string;
  code: ErrorCode;
  path: Array<string> | null;
};

type Refusal_NameTaken_Fragment = { message: string; code: ErrorCode; path: Array<string> | null };

type Refusal_NotFound_Fragment = { message: string; code: ErrorCode; path: Array<string> | null };

type Refusal_NotPermitted_Fragment = {
  message: string;
  code: ErrorCode;
  path: Array<string> | null;
};

type Refusal_QuotaExceeded_Fragment = {
  message: string;
  code: ErrorCode;
  path: Array<string> | null;
};

type Refusal_ValidationProblem_Fragment = {
  message: string;
  code: ErrorCode;
  path: Array<string> | null;
  problems: Array<{
    path: Array<string>;
    message: string;
    code: string | null;
    line: number | null;
    column: number | null;
    excerpt: string | null;
  }>;
};

type Refusal_VersionConflict_Fragment = {
  currentVersion: number;
  message: string;
  code: ErrorCode;
  path: Array<string> | null;
};

export type RefusalFragment =
  | Refusal_DuplicateObject_Fragment
  | Refusal_IllegalState_Fragment
  | Refusal_LimitExceeded_Fragment
  | Refusal_NameTaken_Fragment
  | Refusal_NotFound_Fragment
  | Refusal_NotPermitted_Fragment
  | Refusal_QuotaExceeded_Fragment
  | Refusal_ValidationProblem_Fragment
  | Refusal_VersionConflict_Fragment;

export type ViewerQueryVariables = Exact<{ [key: string]: never }>;

export type ViewerQuery = {
  viewer: {
    userId: string;
    defaultGroup: string | null;
    roles: Array<{ group: string; role: Role }>;
  };
};

export type CalculationDetailsQueryVariables = Exact<{
  id: string;
  asAt?: string | null | undefined;
}>;

export type CalculationDetailsQuery = {
  calculation: {
    id: string;
    name: string;
    description: string | null;
    summary: string | null;
    state: State;
    owner: string;
    version: number;
    updatedAt: string;
    updatedBy: string;
    groups: Array<string>;
    formula: string;
    tags: Array<{ key: string; value: string }>;
    parameters: Array<{
      index: number;
      key: string;
      label: string | null;
      description: string | null;
      type: ValueType;
      required: boolean;
    }>;
    outputs: Array<{ index: number; key: string | null; label: string | null; type: ValueType }>;
    versions: {
      nodes: Array<{
        id: string;
        version: number;
        updatedAt: string;
        updatedBy: string;
        formula: string;
      }>;
    };
  } | null;
};

export type EvaluateQueryVariables = Exact<{
  input: EvaluateInput;
  row: number;
}>;

export type EvaluateQuery = {
  evaluate:
    | {
        __typename: "EvaluatePayload";
        version: number | null;
        values: Array<{ type: FormulaValueType; text: string | null }>;
        errors: Array<{
          row: number;
          column: string | null;
          code: string;
          message: string;
          at: { line: number; column: number } | null;
        }>;
        datasets: Array<{ id: string; name: string; version: number }>;
        explanation: {
          value: { type: FormulaValueType; text: string | null };
          error: { message: string } | null;
          parts: Array<{
            depth: number;
            parent: number | null;
            called: boolean;
            text: string;
            evaluated: boolean;
            operator: string | null;
            value: { type: FormulaValueType; text: string | null } | null;
            soFar: { type: FormulaValueType; text: string | null } | null;
          }>;
        } | null;
      }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | {
        __typename: "ValidationProblem";
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
        problems: Array<{
          path: Array<string>;
          message: string;
          code: string | null;
          line: number | null;
          column: number | null;
          excerpt: string | null;
        }>;
      }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type CataloguePipelinesQueryVariables = Exact<{
  group?: string | null | undefined;
  below?: boolean | null | undefined;
  tags?: TagFilter | null | undefined;
  name?: NameFilter | null | undefined;
  order?: Order | null | undefined;
  after?: string | null | undefined;
}>;

export type CataloguePipelinesQuery = {
  list: {
    nodes: Array<{
      id: string;
      name: string;
      description: string | null;
      state: State;
      owner: string;
      updatedAt: string;
      tags: Array<{ key: string; value: string }>;
      executions: { nodes: Array<{ id: string; state: ExecutionState; createdAt: string }> };
    }>;
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
};

export type CatalogueCalculationsQueryVariables = Exact<{
  group?: string | null | undefined;
  below?: boolean | null | undefined;
  tags?: TagFilter | null | undefined;
  name?: NameFilter | null | undefined;
  order?: Order | null | undefined;
  after?: string | null | undefined;
}>;

export type CatalogueCalculationsQuery = {
  list: {
    nodes: Array<{
      id: string;
      name: string;
      description: string | null;
      state: State;
      owner: string;
      updatedAt: string;
      tags: Array<{ key: string; value: string }>;
    }>;
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
};

export type CatalogueDatasetsQueryVariables = Exact<{
  group?: string | null | undefined;
  below?: boolean | null | undefined;
  tags?: TagFilter | null | undefined;
  name?: NameFilter | null | undefined;
  order?: Order | null | undefined;
  after?: string | null | undefined;
}>;

export type CatalogueDatasetsQuery = {
  list: {
    nodes: Array<{
      id: string;
      name: string;
      description: string | null;
      state: State;
      owner: string;
      updatedAt: string;
      tags: Array<{ key: string; value: string }>;
    }>;
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
};

export type FacetKeysQueryVariables = Exact<{
  kind: ResourceKind;
  group?: string | null | undefined;
  below?: boolean | null | undefined;
  tags?: TagFilter | null | undefined;
}>;

export type FacetKeysQuery = {
  tagKeys: {
    isComplete: boolean;
    nodes: Array<{ key: string; label: string; count: number | null }>;
  };
};

export type FacetValuesQueryVariables = Exact<{
  kind: ResourceKind;
  key: string;
  parent?: string | null | undefined;
  group?: string | null | undefined;
  below?: boolean | null | undefined;
  tags?: TagFilter | null | undefined;
  after?: string | null | undefined;
}>;

export type FacetValuesQuery = {
  tagValues: {
    nodes: Array<{ value: string; label: string; count: number | null; hasChildren: boolean }>;
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
};

export type CatalogueChangesSubscriptionVariables = Exact<{
  group?: string | null | undefined;
  below?: boolean | null | undefined;
}>;

export type CatalogueChangesSubscription = {
  pipelinesChanged: { change: ListChange; pipelineId: string | null; position: string };
};

export type DatasetDetailsQueryVariables = Exact<{
  id: string;
  asAt?: string | null | undefined;
}>;

export type DatasetDetailsQuery = {
  referenceDataset: {
    id: string;
    name: string;
    description: string | null;
    state: State;
    owner: string;
    version: number;
    updatedAt: string;
    updatedBy: string;
    tags: Array<{ key: string; value: string }>;
    content: {
      keyColumn: string;
      rowCount: number;
      sizeBytes: string | number;
      checksum: string;
      columns: Array<{ name: string; description: string | null; type: ValueType }>;
    };
    download: { status: DownloadStatus; url: string | null };
    versions: {
      nodes: Array<{ id: string; version: number; updatedAt: string; updatedBy: string }>;
    };
  } | null;
};

export type ExecutionFactsFragment = {
  id: string;
  state: ExecutionState;
  mode: ExecutionMode;
  code: string | null;
  stateMessage: string | null;
  createdAt: string;
  createdBy: string;
  startedBy: string | null;
  cancelledBy: string | null;
  readyAt: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  durationSeconds: number | null;
  estimatedEnd: string | null;
  queuePosition: number | null;
  pipelineVersion: number;
  maxFailedRows: number | null;
  tags: Array<{ key: string; value: string }>;
  input: { name: string | null; sizeBytes: string | number | null };
  progress: {
    rowsRead: string | number;
    rowsSucceeded: string | number;
    rowsFailed: string | number;
    bytesRead: string | number;
    bytesWritten: string | number;
    bytesTotal: string | number | null;
    rowsPerSecond: number | null;
    etaSeconds: number | null;
  } | null;
  pipeline: { id: string; name: string; owner: string };
  pins: Array<{ kind: string; id: string; version: number; name: string }>;
  attempts: Array<{
    worker: string;
    startedAt: string;
    endedAt: string | null;
    outcome: AttemptOutcome;
    note: string | null;
  }>;
  reusedFrom: { id: string; createdAt: string } | null;
};

export type ExecutionDetailsQueryVariables = Exact<{
  id: string;
}>;

export type ExecutionDetailsQuery = {
  execution: {
    id: string;
    state: ExecutionState;
    mode: ExecutionMode;
    code: string | null;
    stateMessage: string | null;
    createdAt: string;
    createdBy: string;
    startedBy: string | null;
    cancelledBy: string | null;
    readyAt: string | null;
    startedAt: string | null;
    finishedAt: string | null;
    durationSeconds: number | null;
    estimatedEnd: string | null;
    queuePosition: number | null;
    pipelineVersion: number;
    maxFailedRows: number | null;
    outputDownload: {
      status: DownloadStatus;
      url: string | null;
      sizeBytes: string | number | null;
    } | null;
    errorsDownload: {
      status: DownloadStatus;
      url: string | null;
      sizeBytes: string | number | null;
    } | null;
    results: {
      rows: Array<unknown>;
      problems: Array<{ row: number; column: string | null; code: string; message: string }>;
    } | null;
    timeline: {
      nodes: Array<{
        seq: number;
        happening: ExecutionHappening;
        state: ExecutionState;
        at: string;
        by: string;
        note: string | null;
      }>;
    };
    tags: Array<{ key: string; value: string }>;
    input: { name: string | null; sizeBytes: string | number | null };
    progress: {
      rowsRead: string | number;
      rowsSucceeded: string | number;
      rowsFailed: string | number;
      bytesRead: string | number;
      bytesWritten: string | number;
      bytesTotal: string | number | null;
      rowsPerSecond: number | null;
      etaSeconds: number | null;
    } | null;
    pipeline: { id: string; name: string; owner: string };
    pins: Array<{ kind: string; id: string; version: number; name: string }>;
    attempts: Array<{
      worker: string;
      startedAt: string;
      endedAt: string | null;
      outcome: AttemptOutcome;
      note: string | null;
    }>;
    reusedFrom: { id: string; createdAt: string } | null;
  } | null;
};

export type ExecutionLiveSubscriptionVariables = Exact<{
  id: string;
}>;

export type ExecutionLiveSubscription = {
  executionProgress: {
    id: string;
    state: ExecutionState;
    mode: ExecutionMode;
    code: string | null;
    stateMessage: string | null;
    createdAt: string;
    createdBy: string;
    startedBy: string | null;
    cancelledBy: string | null;
    readyAt: string | null;
    startedAt: string | null;
    finishedAt: string | null;
    durationSeconds: number | null;
    estimatedEnd: string | null;
    queuePosition: number | null;
    pipelineVersion: number;
    maxFailedRows: number | null;
    tags: Array<{ key: string; value: string }>;
    input: { name: string | null; sizeBytes: string | number | null };
    progress: {
      rowsRead: string | number;
      rowsSucceeded: string | number;
      rowsFailed: string | number;
      bytesRead: string | number;
      bytesWritten: string | number;
      bytesTotal: string | number | null;
      rowsPerSecond: number | null;
      etaSeconds: number | null;
    } | null;
    pipeline: { id: string; name: string; owner: string };
    pins: Array<{ kind: string; id: string; version: number; name: string }>;
    attempts: Array<{
      worker: string;
      startedAt: string;
      endedAt: string | null;
      outcome: AttemptOutcome;
      note: string | null;
    }>;
    reusedFrom: { id: string; createdAt: string } | null;
  };
};

export type PinnedTransformsQueryVariables = Exact<{
  id: string;
  version: number;
}>;

export type PinnedTransformsQuery = {
  pipeline: {
    id: string;
    versionNumbered: {
      id: string;
      transformer: {
        transforms: Array<{
          index: number;
          formula: string;
          outputs: Array<{ key: string | null }>;
        }>;
      };
    } | null;
  } | null;
};

export type CancelExecutionMutationVariables = Exact<{
  input: CancelExecutionInput;
}>;

export type CancelExecutionMutation = {
  cancelExecution:
    | { __typename: "CancelExecutionPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type RetryExecutionMutationVariables = Exact<{
  input: RetryExecutionInput;
}>;

export type RetryExecutionMutation = {
  retryExecution:
    | { __typename: "RetryExecutionPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "QuotaExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type ExecutionRowFragment = {
  id: string;
  state: ExecutionState;
  createdAt: string;
  createdBy: string;
  readyAt: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  durationSeconds: number | null;
  pipelineVersion: number;
  tags: Array<{ key: string; value: string }>;
  input: { name: string | null };
  progress: { rowsSucceeded: string | number; rowsFailed: string | number } | null;
  pipeline: { id: string; name: string; owner: string };
};

export type ExecutionsQueryVariables = Exact<{
  group?: string | null | undefined;
  below?: boolean | null | undefined;
  states?: Array<ExecutionState> | ExecutionState | null | undefined;
  pipeline?: string | null | undefined;
  tags?: TagFilter | null | undefined;
  createdBy?: string | null | undefined;
  from?: string | null | undefined;
  to?: string | null | undefined;
  order?: ExecutionOrder | null | undefined;
  after?: string | null | undefined;
}>;

export type ExecutionsQuery = {
  executions: {
    nodes: Array<{
      id: string;
      state: ExecutionState;
      createdAt: string;
      createdBy: string;
      readyAt: string | null;
      startedAt: string | null;
      finishedAt: string | null;
      durationSeconds: number | null;
      pipelineVersion: number;
      tags: Array<{ key: string; value: string }>;
      input: { name: string | null };
      progress: { rowsSucceeded: string | number; rowsFailed: string | number } | null;
      pipeline: { id: string; name: string; owner: string };
    }>;
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
};

export type ExecutionTotalsQueryVariables = Exact<{
  group?: string | null | undefined;
  below?: boolean | null | undefined;
  pipeline?: string | null | undefined;
}>;

export type ExecutionTotalsQuery = {
  executionCounts: Array<{ state: ExecutionState; count: number; isComplete: boolean }>;
};

export type ExecutionsLiveSubscriptionVariables = Exact<{
  group?: string | null | undefined;
  below?: boolean | null | undefined;
}>;

export type ExecutionsLiveSubscription = {
  executionsChanged: {
    change: ListChange;
    executionId: string | null;
    position: string;
    execution: {
      id: string;
      state: ExecutionState;
      createdAt: string;
      createdBy: string;
      readyAt: string | null;
      startedAt: string | null;
      finishedAt: string | null;
      durationSeconds: number | null;
      pipelineVersion: number;
      tags: Array<{ key: string; value: string }>;
      input: { name: string | null };
      progress: { rowsSucceeded: string | number; rowsFailed: string | number } | null;
      pipeline: { id: string; name: string; owner: string };
    } | null;
  };
};

export type TransformerFactsFragment = {
  parameters: Array<{
    index: number;
    key: string;
    label: string | null;
    description: string | null;
    type: ValueType;
    required: boolean;
  }>;
  transforms: Array<{
    index: number;
    formula: string;
    outputs: Array<{
      index: number;
      key: string | null;
      label: string | null;
      description: string | null;
      type: ValueType;
    }>;
  }>;
};

export type PipelineDetailsQueryVariables = Exact<{
  id: string;
  asAt?: string | null | undefined;
}>;

export type PipelineDetailsQuery = {
  pipeline: {
    id: string;
    name: string;
    description: string | null;
    state: State;
    owner: string;
    version: number;
    createdAt: string;
    createdBy: string;
    updatedAt: string;
    updatedBy: string;
    groups: Array<string>;
    tags: Array<{ key: string; value: string }>;
    transformer: {
      parameters: Array<{
        index: number;
        key: string;
        label: string | null;
        description: string | null;
        type: ValueType;
        required: boolean;
      }>;
      transforms: Array<{
        index: number;
        formula: string;
        outputs: Array<{
          index: number;
          key: string | null;
          label: string | null;
          description: string | null;
          type: ValueType;
        }>;
      }>;
    };
  } | null;
};

export type PipelineVersionsQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;

export type PipelineVersionsQuery = {
  pipeline: {
    id: string;
    versions: {
      nodes: Array<{
        id: string;
        version: number;
        name: string;
        state: State;
        updatedAt: string;
        updatedBy: string;
      }>;
      pageInfo: { hasNextPage: boolean; endCursor: string | null };
    };
  } | null;
};

export type PipelineDiffQueryVariables = Exact<{
  id: string;
  from: number;
  to: number;
}>;

export type PipelineDiffQuery = {
  pipeline: {
    id: string;
    diff: Array<{ op: ChangeOperation; path: string; before: unknown; after: unknown }> | null;
  } | null;
};

export type PipelineAccessQueryVariables = Exact<{
  id: string;
  group: string;
}>;

export type PipelineAccessQuery = {
  pipeline: {
    id: string;
    owner: string;
    groups: Array<string>;
    grantedThrough: string | null;
    history: {
      nodes: Array<{
        at: string;
        by: string;
        action: HistoryAction;
        group: string | null;
        state: string | null;
      }>;
    } | null;
  } | null;
};

export type GrantPipelineMutationVariables = Exact<{
  input: GrantPipelineInput;
}>;

export type GrantPipelineMutation = {
  grantPipeline:
    | { __typename: "GrantPipelinePayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NameTaken"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type RevokePipelineMutationVariables = Exact<{
  input: RevokePipelineInput;
}>;

export type RevokePipelineMutation = {
  revokePipeline:
    | { __typename: "RevokePipelinePayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type PipelineExecutionsQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;

export type PipelineExecutionsQuery = {
  pipeline: {
    id: string;
    executions: {
      nodes: Array<{
        id: string;
        state: ExecutionState;
        createdAt: string;
        createdBy: string;
        durationSeconds: number | null;
        pipelineVersion: number;
        progress: { rowsSucceeded: string | number; rowsFailed: string | number } | null;
      }>;
      pageInfo: { hasNextPage: boolean; endCursor: string | null };
    };
  } | null;
};

export type DeletePipelineMutationVariables = Exact<{
  input: DeletePipelineInput;
}>;

export type DeletePipelineMutation = {
  deletePipeline:
    | { __typename: "DeletePipelinePayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      };
};

export type ChangePipelineStateMutationVariables = Exact<{
  input: UpdatePipelineInput;
}>;

export type ChangePipelineStateMutation = {
  updatePipeline:
    | { __typename: "UpdatePipelinePayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | {
        __typename: "ValidationProblem";
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
        problems: Array<{
          path: Array<string>;
          message: string;
          code: string | null;
          line: number | null;
          column: number | null;
          excerpt: string | null;
        }>;
      }
    | { __typename: "NameTaken"; message: string; code: ErrorCode; path: Array<string> | null }
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "QuotaExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type RunnablePipelineQueryVariables = Exact<{
  id: string;
}>;

export type RunnablePipelineQuery = {
  pipeline: {
    id: string;
    name: string;
    state: State;
    owner: string;
    version: number;
    transformer: {
      parameters: Array<{
        index: number;
        key: string;
        label: string | null;
        description: string | null;
        type: ValueType;
        required: boolean;
      }>;
      transforms: Array<{
        index: number;
        formula: string;
        outputs: Array<{
          index: number;
          key: string | null;
          label: string | null;
          description: string | null;
          type: ValueType;
        }>;
      }>;
    };
  } | null;
};

export type CreateExecutionMutationVariables = Exact<{
  input: CreateExecutionInput;
}>;

export type CreateExecutionMutation = {
  createExecution:
    | {
        __typename: "CreateExecutionPayload";
        execution: {
          id: string;
          state: ExecutionState;
          upload: {
            method: string;
            url: string;
            expiresAt: string;
            fields: Array<{ name: string; value: string }>;
            headers: Array<{ name: string; value: string }>;
          } | null;
          results: {
            rows: Array<unknown>;
            problems: Array<{ row: number; column: string | null; code: string; message: string }>;
          } | null;
        };
      }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | {
        __typename: "ValidationProblem";
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
        problems: Array<{
          path: Array<string>;
          message: string;
          code: string | null;
          line: number | null;
          column: number | null;
          excerpt: string | null;
        }>;
      }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "QuotaExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type StartExecutionMutationVariables = Exact<{
  input: StartExecutionInput;
}>;

export type StartExecutionMutation = {
  startExecution:
    | { __typename: "StartExecutionPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type AbandonExecutionMutationVariables = Exact<{
  input: CancelExecutionInput;
}>;

export type AbandonExecutionMutation = {
  cancelExecution:
    | { __typename: "CancelExecutionPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};
