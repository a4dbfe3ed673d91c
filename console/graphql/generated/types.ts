// Written by `npm run generate`; do not edit.

/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> =
  T | { [P in keyof T]?: P extends " $fragmentName" | "__typename" ? T[P] : never };
/** The object to add to the library as a track. */
export type AddAudioInput = {
  /** The key of the object: the `objectKey` of `createAudioUpload`, or a key in the bucket of `storageId`. */
  objectKey: string;
  /** The global id of the caller's own storage that holds the object; the caller's uploads if left out. */
  storageId?: string | null | undefined;
};

/** The tracks to add to a playlist, and the position of the new entries. */
export type AddPlaylistEntriesInput = {
  /** The global id of the playlist. */
  id: string;
  /** The global ids of 1 to 98 tracks in order; a track may appear more than once. */
  audioIds: Array<string>;
  /** The id of the entry after which the tracks are added; they are added at the end if left out. */
  after?: string | null | undefined;
  /** The version that the playlist must have; any version if left out. */
  expectedVersion?: number | null | undefined;
  /** The cursors of the named entries, if the client has them. With cursors the server reads only the entries that change, even in a long playlist. An outdated cursor is harmless. */
  cursors?: Array<string> | null | undefined;
  /** A key chosen by the client. The same key with the same input within a day adds the tracks only once. */
  idempotencyKey?: string | null | undefined;
  /** True to leave out tracks that the playlist holds already, and to add a track that is named several times only once. It reads all entries of the playlist. */
  skipDuplicates?: boolean | null | undefined;
};

/** The order of a list of albums. */
export type AlbumOrder =
  /** By name, without a leading article. */
  | "NAME"
  /** By the time when the newest track of the album was added, the latest first. */
  | "NEWEST"
  /** By year, the latest first; albums without a year come last. */
  | "YEAR"
  /** By the number of counted plays of the tracks, the most first. Albums that were never played are left out. */
  | "MOST_PLAYED"
  /** By the time of the latest counted play, the latest first. Albums that were never played are left out. */
  | "RECENTLY_PLAYED"
  /** In an order that is drawn for each list; its pages belong together. */
  | "RANDOM";

/** The execution to cancel. */
export type CancelExecutionInput = {
  /** The global id of the execution. */
  id: string;
};

/** The job to cancel. */
export type CancelJobInput = {
  /** The global id of the job. */
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

/** The API key to create, with its roles and its expiry. */
export type CreateApiKeyInput = {
  /** The name of the key: 1 to 128 characters. Several keys may have the same name. */
  name: string;
  /** The roles of the key: at least one, and in no group more than the caller's own role. A deeper group in which the caller has a lower role must be listed as well. */
  roles: Array<GroupRoleInput>;
  /** The time at which the key expires, in whole seconds; by default it can be at most one year ahead, and the server's settings can change this limit. */
  expiresAt: string;
};

/** The picture to upload. */
export type CreateArtworkUploadInput = {
  /** The name of the file, which becomes the last part of the object's key. */
  fileName: string;
};

/** The audio file to upload. */
export type CreateAudioUploadInput = {
  /** The name of the file, which becomes the last part of the object's key. */
  fileName: string;
  /** The media type of the file, such as `audio/flac`; `application/octet-stream` if left out. */
  contentType?: string | null | undefined;
};

/** The calculation to create. */
export type CreateCalculationInput = {
  /** The path of the group that owns the resource. The default is the caller's default group. */
  group?: string | null | undefined;
  /** The name, of 1 to 128 characters. No other resource of the kind has it in the same group, in a group above it or in a group below it. */
  name: string;
  /** The purpose of the resource, for people, of at most 8192 characters. */
  description?: string | null | undefined;
  /** The tags by which the resource is found: at most 50, with different keys. */
  tags?: Array<TagInput> | null | undefined;
  /** The time from which on `asAt` gives the new version. The default is the time of the creation. */
  activeFrom?: string | null | undefined;
  /** A short text for people that says which value the calculation gives, of at most 1024 characters. */
  summary?: string | null | undefined;
  /** The formula that computes the value of the first output, of 1 to 10000 characters. */
  formula: string;
  /** The parameters of the formula, at most 200. The formula must use each of them. */
  parameters?: Array<ParameterInput> | null | undefined;
  /** The outputs that the calculation fills, 1 to 200. */
  outputs: Array<OutputInput>;
  /** A key that makes it safe to send the request again: the same key with the same input gives the same calculation for a day. */
  idempotencyKey?: string | null | undefined;
};

/** The group in which the uploaded file will be used. */
export type CreateDatasetUploadInput = {
  /** The path of a group at which the caller is a contributor. The default is the caller's default group. */
  group?: string | null | undefined;
  /** The most bytes that the file may have. The default is 4194304. More are for `loadReferenceDataset`. */
  maxBytes?: string | number | null | undefined;
};

/** The execution to create, with its pipeline and mode. */
export type CreateExecutionInput = {
  /** The global id of the pipeline. */
  pipelineId: string;
  /** The way in which the execution receives its input: with JOB the input is uploaded as a file, with INLINE the rows are given here and executed at once. */
  mode?: ExecutionMode | null | undefined;
  /** The input rows, required with INLINE and not allowed with JOB: at most 1,000 objects with the labels or keys of the parameters as keys; missing entries are null. */
  rows?: Array<unknown> | null | undefined;
  /** The tags by which the execution can be found: at most 30, or 18 of two levels each, with different keys. A tag takes one write and two for each level of its value; all tags take 90 at most. */
  tags?: Array<TagInput> | null | undefined;
  /** The execution fails if more rows than this fail; there is no limit if left out. */
  maxFailedRows?: number | null | undefined;
  /** The format of the output file. PARQUET is for the mode JOB, and needs a server with the extra `results`. */
  outputFormat?: OutputFormat | null | undefined;
  /** The name of the input, such as that of its file, for people: 1 to 255 characters. */
  inputName?: string | null | undefined;
  /** A key that makes it safe to send the request again: the same key with the same input gives the same execution for a day. */
  idempotencyKey?: string | null | undefined;
};

/** The group to create. */
export type CreateGroupInput = {
  /** The path of the new group, such as `/usa/northwest`; its parent must exist. */
  path: string;
  /** The display name of the group: 1 to 64 characters; the last part of the path if left out. */
  name?: string | null | undefined;
  /** The purpose of the group, of at most 1000 characters. */
  description?: string | null | undefined;
  /** The tags that mark the group: at most 16, with different keys. */
  tags?: Array<TagInput> | null | undefined;
};

/** The metric to create. */
export type CreateMetricInput = {
  /** The path of the group that owns the resource. The default is the caller's default group. */
  group?: string | null | undefined;
  /** The name, of 1 to 128 characters. No other resource of the kind has it in the same group, in a group above it or in a group below it. */
  name: string;
  /** The purpose of the resource, for people, of at most 8192 characters. */
  description?: string | null | undefined;
  /** The tags by which the resource is found: at most 50, with different keys. */
  tags?: Array<TagInput> | null | undefined;
  /** The time from which on `asAt` gives the new version. The default is the time of the creation. */
  activeFrom?: string | null | undefined;
  /** The unit of the values, for people, of at most 64 characters. */
  unit?: string | null | undefined;
  /** The function over the values of the inputs. */
  function: MeasureFunction;
  /** The inputs of the metric, at most 20. No metric is an input of itself, nor of one of its inputs. */
  inputs: Array<MetricInput>;
  /** A key that makes it safe to send the request again: the same key with the same input gives the same metric for a day. */
  idempotencyKey?: string | null | undefined;
};

/** The pipeline to create. */
export type CreatePipelineInput = {
  /** The path of the group that owns the resource. The default is the caller's default group. */
  group?: string | null | undefined;
  /** The name, of 1 to 128 characters. No other resource of the kind has it in the same group, in a group above it or in a group below it. */
  name: string;
  /** The purpose of the resource, for people, of at most 8192 characters. */
  description?: string | null | undefined;
  /** The tags by which the resource is found: at most 50, with different keys. */
  tags?: Array<TagInput> | null | undefined;
  /** The time from which on `asAt` gives the new version. The default is the time of the creation. */
  activeFrom?: string | null | undefined;
  /** A JSON object with further values that users keep with the pipeline. */
  attributes?: unknown;
  /** The parameters and formulas that turn an input row into an output row. */
  transformer: TransformerInput;
  /** A key that makes it safe to send the request again: the same key with the same input gives the same pipeline for a day. */
  idempotencyKey?: string | null | undefined;
};

/** The playlist to create. It has no entries at first, or a rule that chooses them. */
export type CreatePlaylistInput = {
  /** The name of the playlist: 1 to 128 characters. Several playlists may have the same name. */
  name: string;
  /** The rule of a smart playlist, which has no entries of its own. If left out, tracks are added to the playlist. */
  rule?: PlaylistRuleInput | null | undefined;
  /** A key chosen by the client. The same key with the same input within a day returns the same playlist instead of creating another. */
  idempotencyKey?: string | null | undefined;
};

/** The reference dataset to create. */
export type CreateReferenceDatasetInput = {
  /** The path of the group that owns the resource. The default is the caller's default group. */
  group?: string | null | undefined;
  /** The name, of 1 to 128 characters. No other resource of the kind has it in the same group, in a group above it or in a group below it. */
  name: string;
  /** The purpose of the resource, for people, of at most 8192 characters. */
  description?: string | null | undefined;
  /** The tags by which the resource is found: at most 50, with different keys. */
  tags?: Array<TagInput> | null | undefined;
  /** The time from which on `asAt` gives the new version. The default is the time of the creation. */
  activeFrom?: string | null | undefined;
  /** The complete content with all columns, of at most 50000 rows and 250000 fields. */
  content: DatasetContentInput;
  /** A key that makes it safe to send the request again: the same key with the same input gives the same reference dataset for a day. */
  idempotencyKey?: string | null | undefined;
};

/** A column of the file, with the name that the header of the file gives it. */
export type DatasetColumnInput = {
  /** The name of the column, of 1 to 128 characters. No two columns have the same name. */
  name: string;
  /** The meaning of the column, for people, of at most 512 characters. */
  description?: string | null | undefined;
  /** The type of the values in the column. An empty field is null, except in a column of type `STRING`. */
  type: ValueType;
};

/** The columns of a table, and a CSV file whose header names them in the same order. Give either `csv` or `upload`. */
export type DatasetContentInput = {
  /** The columns in the order of the file, 1 to 50. */
  columns: Array<DatasetColumnInput>;
  /** The name of the column by which rows are looked up. Its values must be unique. The default is the first column. */
  keyColumn?: string | null | undefined;
  /** The names of 1 to 5 columns whose values together are unique, in place of `keyColumn`. */
  keyColumns?: Array<string> | null | undefined;
  /** The CSV file itself, of at most 200000 characters. */
  csv?: string | null | undefined;
  /** The id of a file that the caller has uploaded, in place of `csv`. */
  upload?: string | null | undefined;
};

/** The reference dataset that a pipeline writes. Every output of such a pipeline has a key, which is the name of a column. */
export type DatasetTargetInput = {
  /** The global id of the reference dataset. */
  id: string;
  /** The keys of the 1 to 5 outputs whose values together are the key of a row. */
  key: Array<string>;
};

/** The calculation to delete. */
export type DeleteCalculationInput = {
  /** The number of the current version. If another number is given, nothing changes. The default is not to check. */
  expectedVersion?: number | null | undefined;
  /** Whether to delete it though others use it. Their formulas and inputs then name what is gone: they cannot run until they are changed. */
  force?: boolean | null | undefined;
  /** The global id of the calculation. */
  id: string;
};

/** The dead letters to delete. */
export type DeleteDeadLettersInput = {
  /** The ids of at most 50 dead letters. If one of them does not exist, was replayed, or the caller may not delete it, none is deleted. */
  ids: Array<string>;
};

/** The group to delete. */
export type DeleteGroupInput = {
  /** The path of the group; the root cannot be deleted. */
  path: string;
  /** True to delete also the groups below and all resources that these groups own, as a job in the background. Grants to the deleted groups are revoked. */
  cascade?: boolean | null | undefined;
};

/** The metric to delete. */
export type DeleteMetricInput = {
  /** The number of the current version. If another number is given, nothing changes. The default is not to check. */
  expectedVersion?: number | null | undefined;
  /** Whether to delete it though others use it. Their formulas and inputs then name what is gone: they cannot run until they are changed. */
  force?: boolean | null | undefined;
  /** The global id of the metric. */
  id: string;
};

/** The samples to delete: those of an entity, all or of a span. */
export type DeleteNgsiSamplesInput = {
  /** The service, as written in the notifications. */
  service: string;
  /** The service path, such as `/Madrid/Gardens`. */
  servicePath: string;
  /** The id of the entity. */
  entityId: string;
  /** The type of the entity; may be empty. */
  entityType: string;
  /** The first time of the event, in UTC and inclusive; unbounded if left out. */
  from?: string | null | undefined;
  /** The end of the times, in UTC and exclusive; unbounded if left out. */
  to?: string | null | undefined;
};

/** The pipeline to delete. */
export type DeletePipelineInput = {
  /** The number of the current version. If another number is given, nothing changes. The default is not to check. */
  expectedVersion?: number | null | undefined;
  /** Whether to delete it though others use it. Their formulas and inputs then name what is gone: they cannot run until they are changed. */
  force?: boolean | null | undefined;
  /** The global id of the pipeline. */
  id: string;
};

/** The playlist to delete. */
export type DeletePlaylistInput = {
  /** The global id of the playlist. */
  id: string;
  /** The version that the playlist must have; any version if left out. */
  expectedVersion?: number | null | undefined;
};

/** The reference dataset to delete. */
export type DeleteReferenceDatasetInput = {
  /** The number of the current version. If another number is given, nothing changes. The default is not to check. */
  expectedVersion?: number | null | undefined;
  /** Whether to delete it though others use it. Their formulas and inputs then name what is gone: they cannot run until they are changed. */
  force?: boolean | null | undefined;
  /** The global id of the reference dataset. */
  id: string;
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

/** A range of the durations of executions, in seconds, as `durationSeconds` has them. Only executions that have ended have a place in it, and of them those that a worker started. */
export type DurationFilter = {
  /** The shortest duration, inclusive. The default is any. */
  atLeast?: number | null | undefined;
  /** The longest duration, inclusive. The default is any. */
  atMost?: number | null | undefined;
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
  /** Other resources use the one that is to be deleted. */
  | "IN_USE"
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
  /** The manifest run failed, and can be claimed again only later. */
  | "RETRY_LATER"
  /** The manifest run failed as often as its manifest allows, so no worker claims it. */
  | "RUN_GIVEN_UP"
  /** The manifest run is marked, so that no worker claims it. */
  | "RUN_SKIPPED"
  /** The store did not answer in time; the client can try again later. */
  | "SERVICE_UNAVAILABLE"
  /** Rows that stood at the moment in question have left since, so that it cannot be shown. */
  | "SNAPSHOT_GONE"
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
  /** A label of the version to evaluate, instead of its number. */
  label?: string | null | undefined;
  /** The rows to evaluate, at most 1000. Each gives the inputs of the formula by the keys of its parameters. */
  rows: Array<unknown>;
};

/** The pipeline to evaluate, and the rows to evaluate it for. Give either `id` or `draft`. */
export type EvaluatePipelineInput = {
  /** The global id of a saved pipeline. */
  id?: string | null | undefined;
  /** A transformer that is not saved. It is checked by the same rules as one that is saved. */
  draft?: TransformerInput | null | undefined;
  /** The path of the group in which the draft would be saved. The default is the caller's default group. */
  group?: string | null | undefined;
  /** The number of the version to evaluate. The default is the latest version. A draft has no versions. */
  version?: number | null | undefined;
  /** A label of the version to evaluate, instead of its number. */
  label?: string | null | undefined;
  /** The rows to evaluate: 1 to 1,000 objects with the labels or keys of the parameters as keys; missing entries are null. */
  rows: Array<unknown>;
};

/** The rule to evaluate. */
export type EvaluatePlaylistRuleInput = {
  /** The rule of a smart playlist. */
  rule: PlaylistRuleInput;
};

/** The length of the times that totals are made of, by the clock of a zone. */
export type Every =
  /** An hour each. */
  | "HOUR"
  /** A day each. */
  | "DAY"
  /** A week each, from Monday on. */
  | "WEEK"
  /** A month each. */
  | "MONTH"
  /** A quarter of a year each. */
  | "QUARTER"
  /** A year each. */
  | "YEAR";

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

/** The treatment of the columns of an input that no parameter names. */
export type ExtraColumns =
  /** An input with such a column is refused. */
  | "REFUSE"
  /** Such columns are read over. */
  | "IGNORE";

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

/** A role in a group and in all groups below it. */
export type GroupRoleInput = {
  /** The path of the group at and below which the role applies. */
  group: string;
  /** The role in this group and the groups below it. */
  role: Role;
};

/** The state of a group. */
export type GroupState =
  /** The group is in use. */
  | "ENABLED"
  /** In the group and in those below it nothing is made, changed or started. Everything can be read, and resources can be deleted and change their states and grants. */
  | "DISABLED";

/** The kind of an entry of the history. */
export type HistoryAction =
  /** A group got access to the resource. */
  | "GRANTED"
  /** A group lost its own grant of the resource. */
  | "REVOKED"
  /** The state of the resource was set. */
  | "STATE_CHANGED"
  /** A version of the resource got a label. */
  | "LABEL_SET"
  /** A label of a version of the resource was removed. */
  | "LABEL_REMOVED"
  /** The resource was deleted. */
  | "DELETED"
  /** The group was deleted, or its deletion with everything in it was requested. */
  | "GROUP_DELETED"
  /** A user created an API key with a role at the group. */
  | "API_KEY_CREATED"
  /** A user revoked an API key with a role at the group. */
  | "API_KEY_REVOKED";

/** The kind of work that a job does. */
export type JobKind =
  /** The job deletes a group with everything in it. */
  | "DELETE_GROUP"
  /** The job adds the audio files of a bucket to the caller's library. */
  | "IMPORT_AUDIO"
  /** The job deletes samples of an entity. */
  | "DELETE_SAMPLES"
  /** The job gives an artist, an album or a genre of the caller's library another name. */
  | "RENAME_AUDIO"
  /** The job makes an uploaded file the next version of a reference dataset. */
  | "LOAD_DATASET";

/** The progress of a job. */
export type JobState =
  /** The job waits for a server to start it. */
  | "PENDING"
  /** A server works on the job. */
  | "RUNNING"
  /** The job finished all its steps. */
  | "DONE"
  /** The job failed; its `message` says why. */
  | "FAILED"
  /** The user who requested the job cancelled it. What it had done stays done. */
  | "CANCELLED";

/** The kind of an event of a list. */
export type ListChange =
  /** The object is new in the list, or it changed. */
  | "CHANGED"
  /** The object is gone, or no longer in the list. */
  | "REMOVED"
  /** Read the list now, because the events tell of later changes only. It is the first event, and comes again where the client read too slowly or resumed too late. */
  | "RESET";

/** The uploaded file that becomes the content of a reference dataset. */
export type LoadReferenceDatasetInput = {
  /** The global id of the reference dataset. */
  id: string;
  /** The version that the caller read. If the reference dataset has a newer version, the load fails, and so it does if its content changes until the file is read. */
  expectedVersion: number;
  /** The complete content with all columns, and an `upload`. */
  content: DatasetContentInput;
};

/** A function of the values of an output, which leaves out null. */
export type MeasureFunction =
  /** The exact sum of the numbers. */
  | "SUM"
  /** The number of the values. */
  | "COUNT"
  /** The smallest number. */
  | "MIN"
  /** The largest number. */
  | "MAX"
  /** The exact sum divided by the number of the values, to 34 digits. */
  | "AVG";

/** A function of the values of one output. */
export type MeasureInput = {
  /** The key of the output. */
  output: string;
  /** The function of its values. */
  function: MeasureFunction;
  /** The name of the result; `<function>_<output>` in small letters if left out. */
  as?: string | null | undefined;
};

/** The album to merge, and the one that gets its tracks. */
export type MergeAlbumInput = {
  /** The global id of the album whose tracks change. */
  id: string;
  /** The global id of the album to which the tracks go; its name, its artist and its MusicBrainz id become theirs. */
  into: string;
};

/** By what the points of a series are separate, besides time. */
export type MetricBreakdown =
  /** One point for each time. */
  | "NONE"
  /** A point for the group itself, and one for each group directly below it with all groups below that one. */
  | "GROUP"
  /** A point for each input of the metric, from its values alone. */
  | "INPUT";

/** An input of a metric. Give either `pipeline` and `output`, or `metric`. */
export type MetricInput = {
  /** A pipeline that keeps rows with a time: its global id, or the name by which the group of the metric, or the nearest group above it, sees it. */
  pipeline?: string | null | undefined;
  /** The key of an output of the pipeline. It is a number, unless it is counted. */
  output?: string | null | undefined;
  /** Another metric, by its global id or its name, as `pipeline` is. */
  metric?: string | null | undefined;
};

/** The entries of a playlist to move, and their new position. */
export type MovePlaylistEntriesInput = {
  /** The global id of the playlist. */
  id: string;
  /** The ids of 1 to 49 entries to move; they keep their present order. */
  entryIds: Array<string>;
  /** The id of the entry after which the moved entries are placed; they become the first entries if left out. */
  after?: string | null | undefined;
  /** The version that the playlist must have; any version if left out. */
  expectedVersion?: number | null | undefined;
  /** The cursors of the named entries, if the client has them. With cursors the server reads only the entries that change, even in a long playlist. An outdated cursor is harmless. */
  cursors?: Array<string> | null | undefined;
};

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

/** The format of an output file. */
export type OutputFormat =
  /** The output is CSV in UTF-8. */
  | "CSV"
  /** The output is Parquet: numbers are decimals, times are in UTC. */
  | "PARQUET";

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

/** The rule of a smart playlist: a filter, an order, and the most tracks. */
export type PlaylistRuleInput = {
  /** The filter; all tracks if left out. */
  filter?: TrackFilterInput | null | undefined;
  /** The order of the tracks. */
  order: TrackOrder;
  /** A text of at most 128 characters that draws the order RANDOM, always the same one; if left out, each day in UTC has another order. */
  seed?: string | null | undefined;
  /** The most tracks, the first ones of the order: 1 to 10000. */
  limit?: number | null | undefined;
};

/** The kinds of things that quotas limit. New kinds may be added. */
export type QuotaKind =
  /** Pipelines, calculations and reference datasets, counted together. */
  | "RESOURCES"
  /** All versions of these resources. */
  | "VERSIONS"
  /** The files of all versions of reference datasets, and of each execution the input, the CSV that was made of it, and the results as one; of a user also the tracks of the audio library. */
  | "FILES"
  /** The sizes of these files together, in bytes. */
  | "BYTES"
  /** Uploads that were not used yet, while their form is valid or their file is stored. Those of a group are for the group itself, not for the groups below. */
  | "OPEN_UPLOADS";

/** The manifest run whose output is complete although no worker reported it. */
export type RecoverRunInput = {
  /** The group of the manifest; the caller's default group if left out. */
  group?: string | null | undefined;
  /** The name of the manifest in its group: 1 to 128 characters. */
  manifest: string;
  /** The path of the manifest run's folder inside its bucket, without `s3://`. */
  runId: string;
  /** True to only answer what would happen now: the manifest run as it would be, or the reason why nothing would change. Nothing is written. */
  dryRun?: boolean | null | undefined;
  /** The folder of the output, such as `s3://bucket/stage/run=1/`. */
  savedTo?: string | null | undefined;
  /** The parent of the output folder, given instead of `savedTo`; the output folder in it has the last part of `runId` as its name. Without both, it is the output folder stored with the manifest run. */
  stagePath?: string | null | undefined;
  /** The reason for the change: at most 8192 characters. */
  reason?: string | null | undefined;
  /** The shredded types in the output; those stored with the manifest run if left out. */
  shredTypes?: Array<string> | null | undefined;
};

/** The track or the album that loses its cover. */
export type RemoveArtworkInput = {
  /** The global id of a track or an album. */
  id: string;
};

/** The entries to remove from a playlist. */
export type RemovePlaylistEntriesInput = {
  /** The global id of the playlist. */
  id: string;
  /** The ids of 1 to 98 entries to remove. */
  entryIds: Array<string>;
  /** The version that the playlist must have; any version if left out. */
  expectedVersion?: number | null | undefined;
  /** The cursors of the named entries, if the client has them. With cursors the server reads only the entries that change, even in a long playlist. An outdated cursor is harmless. */
  cursors?: Array<string> | null | undefined;
};

/** The label to remove. */
export type RemoveVersionLabelInput = {
  /** The global id of a pipeline, calculation, reference dataset or metric. */
  id: string;
  /** The label, on whichever version it is. */
  label: string;
};

/** The album to rename, with a new name, a new artist, or both. */
export type RenameAlbumInput = {
  /** The global id of the album. */
  id: string;
  /** The new name: 1 to 256 characters; the present one if left out. */
  name?: string | null | undefined;
  /** The name of the new artist of the album: 1 to 256 characters; the present one if left out. */
  artistName?: string | null | undefined;
};

/** The artist to rename, and the new name. */
export type RenameArtistInput = {
  /** The global id of the artist. */
  id: string;
  /** The new name: 1 to 256 characters. If another artist has it, both become one. */
  name: string;
};

/** The genre to rename, and the new name. */
export type RenameGenreInput = {
  /** The present name of the genre; upper and lower case are the same. */
  name: string;
  /** The new name: 1 to 256 characters. If another genre has it, both become one. */
  newName: string;
};

/** The playlist to rename, and its new name. */
export type RenamePlaylistInput = {
  /** The global id of the playlist. */
  id: string;
  /** The name of the playlist: 1 to 128 characters. Several playlists may have the same name. */
  name: string;
  /** The version that the playlist must have; any version if left out. */
  expectedVersion?: number | null | undefined;
};

/** The dead letters to replay. */
export type ReplayDeadLettersInput = {
  /** The ids of at most 100 dead letters. If one of them does not exist, or the caller may not replay it, none is replayed. */
  ids: Array<string>;
};

/** The manifest run to reset or to delete. */
export type ResetRunInput = {
  /** The group of the manifest; the caller's default group if left out. */
  group?: string | null | undefined;
  /** The name of the manifest in its group: 1 to 128 characters. */
  manifest: string;
  /** The path of the manifest run's folder inside its bucket, without `s3://`. */
  runId: string;
  /** True to only answer what would happen now: the manifest run as it would be, or the reason why nothing would change. Nothing is written. */
  dryRun?: boolean | null | undefined;
  /** The folder of the output, such as `s3://bucket/stage/run=1/`. */
  savedTo?: string | null | undefined;
  /** The parent of the output folder, given instead of `savedTo`; the output folder in it has the last part of `runId` as its name. Without both, it is the output folder stored with the manifest run. */
  stagePath?: string | null | undefined;
  /** The reason for the change: at most 8192 characters. */
  reason?: string | null | undefined;
  /** True to reset without checking that the output folder has no `_SUCCESS` file. */
  force?: boolean | null | undefined;
  /** True to delete the manifest run and its history; only for admins of the group. */
  delete?: boolean | null | undefined;
};

/** The kind of resource that has the tags. */
export type ResourceKind =
  /** The tags are on pipelines. */
  | "PIPELINE"
  /** The tags are on calculations. */
  | "CALCULATION"
  /** The tags are on reference datasets. */
  | "REFERENCE_DATASET"
  /** The tags are on metrics. */
  | "METRIC";

/** The version to restore. */
export type RestoreVersionInput = {
  /** The global id of a pipeline, calculation, reference dataset or metric. */
  id: string;
  /** The number of the version to restore. Give either this or `label`. */
  version?: number | null | undefined;
  /** A label of the version to restore. */
  label?: string | null | undefined;
  /** The number of the current version. If another number is given, nothing changes. */
  expectedVersion: number;
  /** The time from which on the new version is active. The default is now. */
  activeFrom?: string | null | undefined;
};

/** The execution to retry. */
export type RetryExecutionInput = {
  /** The global id of the execution. */
  id: string;
};

/** The manifest run to try again at once. */
export type RetryRunInput = {
  /** The group of the manifest; the caller's default group if left out. */
  group?: string | null | undefined;
  /** The name of the manifest in its group: 1 to 128 characters. */
  manifest: string;
  /** The path of the manifest run's folder inside its bucket, without `s3://`. */
  runId: string;
  /** True to only answer what would happen now: the manifest run as it would be, or the reason why nothing would change. Nothing is written. */
  dryRun?: boolean | null | undefined;
  /** The reason for the change: at most 8192 characters. */
  reason?: string | null | undefined;
};

/** The API key to revoke. */
export type RevokeApiKeyInput = {
  /** The id of the key, which is also the middle part of the key itself. */
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

/** A condition on one output of a row. All comparisons that are given must hold; a row without a value fulfils none. */
export type RowConditionInput = {
  /** The key of the output. */
  output: string;
  /** The value that it has: a text, a number or a truth value. */
  eq?: unknown;
  /** Values of which it has one, at most 100. */
  in?: Array<unknown> | null | undefined;
  /** The value from which on it lies, inclusive. */
  gte?: unknown;
  /** The value below which it lies, exclusive. */
  lt?: unknown;
};

/** The outputs that identify the rows that a pipeline keeps. Every output of such a pipeline has a key that does not begin with `_`. */
export type RowsInput = {
  /** The keys of the 1 to 8 outputs whose values identify a row. A later row with the same values replaces it. */
  key: Array<string>;
  /** The key of the output of the type TIMESTAMP that is the time of a row. */
  time?: string | null | undefined;
  /** The key of the output of the type STRING that is the path of a row's group: that of the pipeline's owner, or one below it. Without it rows belong to the owner. */
  group?: string | null | undefined;
  /** The number of days, 1 to 36,500, after which rows leave, with the files of their execution. They count from the end of the execution that made them. Without it rows stay for ever. */
  keepDays?: number | null | undefined;
};

/** An action on a manifest run, as the history of the run records it. */
export type RunAction =
  /** The run was entered in the manifest. */
  | "DISCOVER"
  /** The run was imported into the manifest. */
  | "IMPORT"
  /** A worker claimed the run for one stage. */
  | "CLAIM"
  /** The worker renewed its lease of the run. */
  | "HEARTBEAT"
  /** The Transformer reported that its output is complete. */
  | "PROCESSED"
  /** The Loader reported that the output is loaded. */
  | "LOADED"
  /** The worker reported that it failed. */
  | "FAIL"
  /** The last attempt ended with its lease, and nobody may try again. */
  | "GIVE_UP"
  /** A user let workers try the run again at once. */
  | "RETRY"
  /** A user marked the run, so that no worker claims it. */
  | "SKIP"
  /** A user removed the mark that kept workers from the run. */
  | "UNSKIP"
  /** A user marked the run as processed, because its output is complete. */
  | "RECOVER"
  /** A user set the run back to new, so that it is transformed again. */
  | "RESET"
  /** A user set a loaded run back to processed, so that it is loaded again. */
  | "RELOAD"
  /** A user set the tags and the batch of the run. */
  | "TAG"
  /** The run was copied from the manifest that this one consumes. */
  | "COPY";

/** The progress of a manifest run. In the manifest table itself, tools that read only the documented attributes see `PROCESSING` as `NEW`, `LOADING` as `PROCESSED`, and `FAILED` and `GIVEN_UP` as the state before them. */
export type RunState =
  /** The run waits for a Transformer. */
  | "NEW"
  /** A Transformer works on the run. */
  | "PROCESSING"
  /** The Transformer finished its output, and the run waits for a Loader. */
  | "PROCESSED"
  /** A Loader works on the run. */
  | "LOADING"
  /** The Loader finished the run. */
  | "LOADED"
  /** A Transformer or a Loader failed to process the run. */
  | "FAILED"
  /** The run failed as often as its manifest allows: no worker tries it again until `retryRun` lets them. */
  | "GIVEN_UP";

/** The track or the album that gets a cover, and the cover. */
export type SetArtworkInput = {
  /** The global id of a track or an album. */
  id: string;
  /** The key of a picture that was uploaded with the form of `createArtworkUpload`: JPEG, PNG, GIF or WebP. */
  objectKey: string;
};

/** The thing to mark or unmark as a favourite. */
export type SetFavouriteInput = {
  /** The global id of a track, a playlist, an album or an artist. */
  id: string;
  /** True to make it a favourite, false to remove it from the favourites. */
  favourite: boolean;
};

/** The smart playlist, and its new rule. */
export type SetPlaylistRuleInput = {
  /** The global id of the playlist. */
  id: string;
  /** The rule, in place of the present one. */
  rule: PlaylistRuleInput;
  /** The version that the playlist must have; any version if left out. */
  expectedVersion?: number | null | undefined;
};

/** The version to label, and the label. */
export type SetVersionLabelInput = {
  /** The global id of a pipeline, calculation, reference dataset or metric. */
  id: string;
  /** The number of the version. */
  version: number;
  /** The label, of 1 to 64 characters. Labels that differ in case only are the same. The versions of a resource have at most 100. */
  label: string;
  /** Whether another version that has the label loses it. Without, it is refused. */
  move?: boolean;
};

/** The manifest run to skip. */
export type SkipRunInput = {
  /** The group of the manifest; the caller's default group if left out. */
  group?: string | null | undefined;
  /** The name of the manifest in its group: 1 to 128 characters. */
  manifest: string;
  /** The path of the manifest run's folder inside its bucket, without `s3://`. */
  runId: string;
  /** True to only answer what would happen now: the manifest run as it would be, or the reason why nothing would change. Nothing is written. */
  dryRun?: boolean | null | undefined;
  /** The reason for the change: at most 8192 characters. */
  reason: string;
};

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

/** The kind of store that holds the table. */
export type StoreKind =
  /** A file of the machine that the server runs on. */
  | "EMBEDDED"
  /** A table of DynamoDB. */
  | "DYNAMODB";

/** The tags that resources must have: every tag in `all`, at least one in `any`, not one in `none`, and none with a key in `withoutKeys`. A value also matches the values below it: `material` matches `material/metal/steel`. The lists hold at most 20 entries together. */
export type TagFilter = {
  /** The tags that a resource must all have. The default is no restriction. */
  all?: Array<TagInput> | null | undefined;
  /** The tags of which a resource must have at least one. The default and an empty list are no restriction. */
  any?: Array<TagInput> | null | undefined;
  /** The tags of which a resource must have none. The default is no restriction. */
  none?: Array<TagInput> | null | undefined;
  /** The keys with which a resource must have no tag at all, whatever its value. The default is no restriction. */
  withoutKeys?: Array<string> | null | undefined;
};

/** A key and a value that mark a resource, so that it can be found. A value can have levels, separated by `/`. */
export type TagInput = {
  /** The key, of 1 to 128 characters. */
  key: string;
  /** The value, of 1 to 10 levels with 1 to 128 characters each. */
  value: string;
};

/** The form that timestamps have in outputs. */
export type TimestampForm =
  /** A time in UTC, such as `2026-01-31T00:00:00.000Z`. */
  | "ISO_8601"
  /** The number of milliseconds since 1970, in UTC. */
  | "EPOCH_MILLISECONDS";

/** A filter of tracks, all of whose conditions hold. A rule has at most 20 filters, with those inside others, and a list at most 20 names. */
export type TrackFilterInput = {
  /** The genres of which a track has one; upper and lower case are the same. No condition if left out. */
  genres?: Array<string> | null | undefined;
  /** The names of artists, one of whom is an artist of the track or of its album. No condition if left out. */
  artists?: Array<string> | null | undefined;
  /** The names of albums, one of which is that of the track. No condition if left out. */
  albums?: Array<string> | null | undefined;
  /** The beginning of the title; case and accents make no difference. No condition if left out. */
  titleStartsWith?: string | null | undefined;
  /** Beginnings of words of the title, in any order, as in `NameFilter`. No condition if left out. */
  titleContains?: string | null | undefined;
  /** A part of the key of the object; upper and lower case are the same. No condition if left out. */
  path?: string | null | undefined;
  /** The earliest year; a track without a year has none. No condition if left out. */
  fromYear?: number | null | undefined;
  /** The latest year; a track without a year has none. No condition if left out. */
  toYear?: number | null | undefined;
  /** True for favourites, false for tracks that are none. No condition if left out. */
  favourite?: boolean | null | undefined;
  /** The lowest rating; a track that the caller has not rated has 0. No condition if left out. */
  minRating?: number | null | undefined;
  /** The highest rating; a track that the caller has not rated has 0. No condition if left out. */
  maxRating?: number | null | undefined;
  /** The smallest number of counted plays. No condition if left out. */
  minPlays?: number | null | undefined;
  /** The largest number of counted plays. No condition if left out. */
  maxPlays?: number | null | undefined;
  /** The time at or after which the latest counted play began, in UTC. No condition if left out. */
  playedSince?: string | null | undefined;
  /** The days before now within which it began: 1 to 36500. No condition if left out. */
  playedWithinDays?: number | null | undefined;
  /** The time at or after which the track was added, in UTC. No condition if left out. */
  addedSince?: string | null | undefined;
  /** The days before now within which it was added: 1 to 36500. No condition if left out. */
  addedWithinDays?: number | null | undefined;
  /** Filters of which one must match. No condition if left out. */
  anyOf?: Array<TrackFilterInput> | null | undefined;
  /** Filters of which none may match. No condition if left out. */
  noneOf?: Array<TrackFilterInput> | null | undefined;
};

/** The order of the tracks of a smart playlist. */
export type TrackOrder =
  /** By title, without a leading article. */
  | "TITLE"
  /** By the first artist, then by year, album, disc number and track number. */
  | "ARTIST"
  /** By album, disc number and track number. */
  | "ALBUM"
  /** By year, the latest first, then by album. */
  | "YEAR"
  /** By the time when the tracks were added, the latest first. */
  | "NEWEST"
  /** By the time when the tracks were added, the earliest first. */
  | "OLDEST"
  /** By the number of counted plays, the most first. */
  | "MOST_PLAYED"
  /** By the number of counted plays, the fewest first. */
  | "LEAST_PLAYED"
  /** By the latest counted play, the latest first; tracks that were never played come last. */
  | "RECENTLY_PLAYED"
  /** By the latest counted play, the earliest first; tracks that were never played come before them. */
  | "LEAST_RECENTLY_PLAYED"
  /** By rating, the highest first; tracks without one come last. */
  | "HIGHEST_RATED"
  /** By the time when the tracks became favourites, the latest first; other tracks come last. */
  | "LATEST_FAVOURITE"
  /** In an order that the seed draws, or that is another one on each day in UTC. */
  | "RANDOM";

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
  /** The identity of the rows, to keep them: they can then be listed, summed and corrected. Without it outputs are in files only. */
  rows?: RowsInput | null | undefined;
  /** The reference dataset of which each execution writes the next version: its output is the content. Whoever runs the pipeline must be a contributor at the group that owns the dataset. A pipeline with it keeps no rows. */
  dataset?: DatasetTargetInput | null | undefined;
  /** The treatment of the columns of an input that no parameter names. */
  extraColumns?: ExtraColumns | null | undefined;
  /** The form that timestamps have in outputs and in rows that are kept. An update without it leaves the form as it is; otherwise the default is ISO_8601. */
  timestamps?: TimestampForm | null | undefined;
};

/** The manifest run to stop skipping. */
export type UnskipRunInput = {
  /** The group of the manifest; the caller's default group if left out. */
  group?: string | null | undefined;
  /** The name of the manifest in its group: 1 to 128 characters. */
  manifest: string;
  /** The path of the manifest run's folder inside its bucket, without `s3://`. */
  runId: string;
  /** True to only answer what would happen now: the manifest run as it would be, or the reason why nothing would change. Nothing is written. */
  dryRun?: boolean | null | undefined;
  /** The reason for the change: at most 8192 characters. */
  reason?: string | null | undefined;
};

/** The changes to make to a calculation. A field that is left out keeps its value, and null clears the value. */
export type UpdateCalculationInput = {
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
  /** The time from which on `asAt` gives the new version. The default is now, or that of the version before if this is still to come; null is now. */
  activeFrom?: string | null | undefined;
  /** The global id of the calculation. */
  id: string;
  /** A short text for people that says which value the calculation gives, of at most 1024 characters. */
  summary?: string | null | undefined;
  /** The formula that computes the value of the first output, of 1 to 10000 characters. */
  formula?: string | null | undefined;
  /** The parameters of the formula, at most 200. The formula must use each of them. */
  parameters?: Array<ParameterInput> | null | undefined;
  /** The outputs that the calculation fills, 1 to 200. */
  outputs?: Array<OutputInput> | null | undefined;
};

/** The group to change. Fields that are left out stay as they are; null removes the description or the tags. */
export type UpdateGroupInput = {
  /** The path of the group; the root cannot be changed. */
  path: string;
  /** The display name of the group: 1 to 64 characters. */
  name?: string | null | undefined;
  /** The purpose of the group, of at most 1000 characters. */
  description?: string | null | undefined;
  /** The tags that mark the group: at most 16, with different keys. */
  tags?: Array<TagInput> | null | undefined;
  /** The new state of the group. */
  state?: GroupState | null | undefined;
};

/** The changes to make to a metric. A field that is left out keeps its value, and null clears the value. */
export type UpdateMetricInput = {
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
  /** The time from which on `asAt` gives the new version. The default is now, or that of the version before if this is still to come; null is now. */
  activeFrom?: string | null | undefined;
  /** The global id of the metric. */
  id: string;
  /** The unit of the values, for people, of at most 64 characters. */
  unit?: string | null | undefined;
  /** The function over the values of the inputs. */
  function?: MeasureFunction | null | undefined;
  /** The inputs of the metric, at most 20. No metric is an input of itself, nor of one of its inputs. */
  inputs?: Array<MetricInput> | null | undefined;
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
  /** The time from which on `asAt` gives the new version. The default is now, or that of the version before if this is still to come; null is now. */
  activeFrom?: string | null | undefined;
  /** The global id of the pipeline. */
  id: string;
  /** A JSON object with further values that users keep with the pipeline. */
  attributes?: unknown;
  /** The parameters and formulas that turn an input row into an output row. */
  transformer?: TransformerInput | null | undefined;
};

/** The changes to make to a reference dataset. A field that is left out keeps its value, and null clears the value. */
export type UpdateReferenceDatasetInput = {
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
  /** The time from which on `asAt` gives the new version. The default is now, or that of the version before if this is still to come; null is now. */
  activeFrom?: string | null | undefined;
  /** The global id of the reference dataset. */
  id: string;
  /** The complete content with all columns, of at most 50000 rows and 250000 fields. */
  content?: DatasetContentInput | null | undefined;
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

/** The rows to withdraw, and the reason. Give either `keys` or `executionId`. */
export type WithdrawRowsInput = {
  /** The global id of the pipeline. */
  pipelineId: string;
  /** The keys of the rows: for each row the values that identify it, as `key` of a row has them. At most 100 rows. */
  keys?: Array<Array<string>> | null | undefined;
  /** The global id of an execution: all rows in the caller's sight are withdrawn that stand as it made them. Rows that a later execution corrected stay, and so do those of groups out of sight. */
  executionId?: string | null | undefined;
  /** The reason of the withdrawal, in 1 to 1000 characters. */
  reason: string;
};

/** The kind of process that runs executions. */
export type WorkerKind =
  /** A server with the worker processes that it starts. */
  | "SERVER"
  /** A `penstock worker`. */
  | "COMMAND"
  /** A program that claims executions by the API; only its name is known. */
  | "EXTERNAL";

export type ViewedGroupsQueryVariables = Exact<{ [key: string]: never }>;

export type ViewedGroupsQuery = { viewer: { roles: Array<{ group: string }> } };

export type SeenGroupFragment = {
  id: string;
  path: string;
  name: string;
  children: {
    nodes: Array<{ id: string; path: string; name: string }>;
    pageInfo: { hasNextPage: boolean };
  };
};

export type GroupsBelowQueryVariables = Exact<{
  path: string;
}>;

export type GroupsBelowQuery = {
  group: {
    id: string;
    path: string;
    name: string;
    children: {
      nodes: Array<{ id: string; path: string; name: string }>;
      pageInfo: { hasNextPage: boolean };
    };
  } | null;
};

export type GroupsBelowAllQueryVariables = Exact<{
  ids: Array<string> | string;
}>;

export type GroupsBelowAllQuery = {
  nodes: Array<
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | {
        id: string;
        path: string;
        name: string;
        children: {
          nodes: Array<{ id: string; path: string; name: string }>;
          pageInfo: { hasNextPage: boolean };
        };
      }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | null
  >;
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

export type UsedVersionsFragment = {
  pins: Array<{ kind: string; id: string; version: number; name: string }>;
};

export type ExplainedRowFragment = {
  row: number;
  input: unknown;
  outputs: Array<{
    key: string;
    formula: string;
    explanation: {
      value: { type: FormulaValueType; text: string | null };
      parts: Array<{
        depth: number;
        parent: number | null;
        called: boolean;
        text: string;
        evaluated: boolean;
        value: { type: FormulaValueType; text: string | null } | null;
      }>;
    };
  }>;
};

type User_Pipeline_Fragment = { __typename: "Pipeline"; id: string; name: string; owner: string };

type User_Calculation_Fragment = {
  __typename: "Calculation";
  id: string;
  name: string;
  owner: string;
};

type User_ReferenceDataset_Fragment = {
  __typename: "ReferenceDataset";
  id: string;
  name: string;
  owner: string;
};

type User_Metric_Fragment = { __typename: "Metric"; id: string; name: string; owner: string };

export type UserFragment =
  | User_Pipeline_Fragment
  | User_Calculation_Fragment
  | User_ReferenceDataset_Fragment
  | User_Metric_Fragment;

export type UsedByQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;

export type UsedByQuery = {
  node:
    | { id: string }
    | { id: string }
    | { id: string }
    | {
        id: string;
        usedBy: {
          nodes: Array<
            | { __typename: "Pipeline"; id: string; name: string; owner: string }
            | { __typename: "Calculation"; id: string; name: string; owner: string }
            | { __typename: "ReferenceDataset"; id: string; name: string; owner: string }
            | { __typename: "Metric"; id: string; name: string; owner: string }
          >;
          pageInfo: { hasNextPage: boolean; endCursor: string | null };
        };
      }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | {
        id: string;
        usedBy: {
          nodes: Array<
            | { __typename: "Pipeline"; id: string; name: string; owner: string }
            | { __typename: "Calculation"; id: string; name: string; owner: string }
            | { __typename: "ReferenceDataset"; id: string; name: string; owner: string }
            | { __typename: "Metric"; id: string; name: string; owner: string }
          >;
          pageInfo: { hasNextPage: boolean; endCursor: string | null };
        };
      }
    | { id: string }
    | { id: string }
    | {
        id: string;
        usedBy: {
          nodes: Array<
            | { __typename: "Pipeline"; id: string; name: string; owner: string }
            | { __typename: "Calculation"; id: string; name: string; owner: string }
            | { __typename: "ReferenceDataset"; id: string; name: string; owner: string }
            | { __typename: "Metric"; id: string; name: string; owner: string }
          >;
          pageInfo: { hasNextPage: boolean; endCursor: string | null };
        };
      }
    | { id: string }
    | { id: string }
    | { id: string }
    | null;
};

export type SetVersionLabelMutationVariables = Exact<{
  input: SetVersionLabelInput;
}>;

export type SetVersionLabelMutation = {
  setVersionLabel:
    | { __typename: "SetVersionLabelPayload" }
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
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type RemoveVersionLabelMutationVariables = Exact<{
  input: RemoveVersionLabelInput;
}>;

export type RemoveVersionLabelMutation = {
  removeVersionLabel:
    | { __typename: "RemoveVersionLabelPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type RestoreVersionMutationVariables = Exact<{
  input: RestoreVersionInput;
}>;

export type RestoreVersionMutation = {
  restoreVersion:
    | { __typename: "RestoreVersionPayload" }
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

export type JobsQueryVariables = Exact<{
  group?: string | null | undefined;
}>;

export type JobsQuery = {
  jobs: {
    nodes: Array<{
      id: string;
      kind: JobKind;
      state: JobState;
      createdAt: string;
      createdBy: string;
      done: number;
      total: number | null;
      message: string | null;
    }>;
  };
};

export type JobFactsFragment = {
  id: string;
  kind: JobKind;
  state: JobState;
  createdAt: string;
  createdBy: string;
  done: number;
  total: number | null;
  message: string | null;
};

export type JobDetailsQueryVariables = Exact<{
  id: string;
}>;

export type JobDetailsQuery = {
  job: {
    id: string;
    kind: JobKind;
    state: JobState;
    createdAt: string;
    createdBy: string;
    done: number;
    total: number | null;
    message: string | null;
    problems: Array<{
      path: Array<string>;
      message: string;
      code: string | null;
      line: number | null;
      column: number | null;
    }>;
  } | null;
};

export type JobLiveSubscriptionVariables = Exact<{
  id: string;
}>;

export type JobLiveSubscription = {
  jobProgress: {
    id: string;
    kind: JobKind;
    state: JobState;
    createdAt: string;
    createdBy: string;
    done: number;
    total: number | null;
    message: string | null;
  };
};

export type CancelJobMutationVariables = Exact<{
  input: CancelJobInput;
}>;

export type CancelJobMutation = {
  cancelJob:
    | { __typename: "CancelJobPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type TrackUrlQueryVariables = Exact<{
  id: string;
}>;

export type TrackUrlQuery = {
  audio: { id: string; streamUrl: { url: string; expiresAt: string } | null } | null;
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

type Refusal_InUse_Fragment = { message: string; code: ErrorCode; path: Array<string> | null };

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
  | Refusal_InUse_Fragment
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

export type TrackFactsFragment = {
  id: string;
  title: string;
  displayArtist: string | null;
  durationMs: number;
  favouriteAt: string | null;
  artworkUrl: { url: string } | null;
  album: { id: string; name: string } | null;
};

export type AudioChoicesQueryVariables = Exact<{
  order: AlbumOrder;
}>;

export type AudioChoicesQuery = {
  artists: { nodes: Array<{ id: string; name: string; count: number }> };
  albums: { nodes: Array<{ id: string; name: string; count: number }> };
  genres: { nodes: Array<{ name: string; count: number }> };
  playlists: {
    nodes: Array<{
      id: string;
      name: string;
      entryCount: number;
      rule: { order: TrackOrder } | null;
    }>;
  };
};

export type TracksQueryVariables = Exact<{
  artist?: string | null | undefined;
  album?: string | null | undefined;
  genre?: string | null | undefined;
  title?: NameFilter | null | undefined;
  after?: string | null | undefined;
}>;

export type TracksQuery = {
  audios: {
    nodes: Array<{
      id: string;
      title: string;
      displayArtist: string | null;
      durationMs: number;
      favouriteAt: string | null;
      artworkUrl: { url: string } | null;
      album: { id: string; name: string } | null;
    }>;
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
};

export type AlbumDetailsQueryVariables = Exact<{
  id: string;
}>;

export type AlbumDetailsQuery = {
  node:
    | {
        name: string;
        artistName: string;
        count: number;
        year: number | null;
        id: string;
        artworkUrl: { url: string } | null;
      }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | null;
};

export type ArtistNamedQueryVariables = Exact<{
  name: string;
}>;

export type ArtistNamedQuery = { artistByName: { id: string; name: string; count: number } | null };

export type AlbumNamedQueryVariables = Exact<{
  name: string;
  artistName: string;
}>;

export type AlbumNamedQuery = { albumByName: { id: string; name: string; count: number } | null };

export type GenreNamedQueryVariables = Exact<{
  name: string;
}>;

export type GenreNamedQuery = { genreByName: { name: string; count: number } | null };

export type RenameArtistMutationVariables = Exact<{
  input: RenameArtistInput;
}>;

export type RenameArtistMutation = {
  renameArtist:
    | { __typename: "RenameArtistPayload"; job: { id: string } }
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
      };
};

export type RenameAlbumMutationVariables = Exact<{
  input: RenameAlbumInput;
}>;

export type RenameAlbumMutation = {
  renameAlbum:
    | { __typename: "RenameAlbumPayload"; job: { id: string } }
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
      };
};

export type MergeAlbumMutationVariables = Exact<{
  input: MergeAlbumInput;
}>;

export type MergeAlbumMutation = {
  mergeAlbum:
    | { __typename: "MergeAlbumPayload"; job: { id: string } }
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
      };
};

export type RenameGenreMutationVariables = Exact<{
  input: RenameGenreInput;
}>;

export type RenameGenreMutation = {
  renameGenre:
    | { __typename: "RenameGenrePayload"; job: { id: string } }
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
      };
};

export type ConditionsFragment = {
  genres: Array<string>;
  artists: Array<string>;
  albums: Array<string>;
  titleStartsWith: string | null;
  titleContains: string | null;
  path: string | null;
  fromYear: number | null;
  toYear: number | null;
  favourite: boolean | null;
  minRating: number | null;
  maxRating: number | null;
  minPlays: number | null;
  maxPlays: number | null;
  playedSince: string | null;
  playedWithinDays: number | null;
  addedSince: string | null;
  addedWithinDays: number | null;
};

export type InnerFilterFragment = {
  genres: Array<string>;
  artists: Array<string>;
  albums: Array<string>;
  titleStartsWith: string | null;
  titleContains: string | null;
  path: string | null;
  fromYear: number | null;
  toYear: number | null;
  favourite: boolean | null;
  minRating: number | null;
  maxRating: number | null;
  minPlays: number | null;
  maxPlays: number | null;
  playedSince: string | null;
  playedWithinDays: number | null;
  addedSince: string | null;
  addedWithinDays: number | null;
  anyOf: Array<{ path: string | null }>;
  noneOf: Array<{ path: string | null }>;
};

export type RuleFactsFragment = {
  order: TrackOrder;
  seed: string | null;
  limit: number;
  filter: {
    genres: Array<string>;
    artists: Array<string>;
    albums: Array<string>;
    titleStartsWith: string | null;
    titleContains: string | null;
    path: string | null;
    fromYear: number | null;
    toYear: number | null;
    favourite: boolean | null;
    minRating: number | null;
    maxRating: number | null;
    minPlays: number | null;
    maxPlays: number | null;
    playedSince: string | null;
    playedWithinDays: number | null;
    addedSince: string | null;
    addedWithinDays: number | null;
    anyOf: Array<{
      genres: Array<string>;
      artists: Array<string>;
      albums: Array<string>;
      titleStartsWith: string | null;
      titleContains: string | null;
      path: string | null;
      fromYear: number | null;
      toYear: number | null;
      favourite: boolean | null;
      minRating: number | null;
      maxRating: number | null;
      minPlays: number | null;
      maxPlays: number | null;
      playedSince: string | null;
      playedWithinDays: number | null;
      addedSince: string | null;
      addedWithinDays: number | null;
      anyOf: Array<{ path: string | null }>;
      noneOf: Array<{ path: string | null }>;
    }>;
    noneOf: Array<{
      genres: Array<string>;
      artists: Array<string>;
      albums: Array<string>;
      titleStartsWith: string | null;
      titleContains: string | null;
      path: string | null;
      fromYear: number | null;
      toYear: number | null;
      favourite: boolean | null;
      minRating: number | null;
      maxRating: number | null;
      minPlays: number | null;
      maxPlays: number | null;
      playedSince: string | null;
      playedWithinDays: number | null;
      addedSince: string | null;
      addedWithinDays: number | null;
      anyOf: Array<{ path: string | null }>;
      noneOf: Array<{ path: string | null }>;
    }>;
  };
};

export type EvaluateRuleQueryVariables = Exact<{
  input: EvaluatePlaylistRuleInput;
}>;

export type EvaluateRuleQuery = {
  evaluatePlaylistRule:
    | {
        __typename: "EvaluatePlaylistRulePayload";
        entryCount: number;
        durationMs: string | number;
        entries: { nodes: Array<{ id: string; title: string | null; artist: string | null }> };
      }
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
      };
};

export type SetPlaylistRuleMutationVariables = Exact<{
  input: SetPlaylistRuleInput;
}>;

export type SetPlaylistRuleMutation = {
  setPlaylistRule:
    | { __typename: "SetPlaylistRulePayload" }
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
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      };
};

export type PlaylistTracksQueryVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;

export type PlaylistTracksQuery = {
  playlist: {
    id: string;
    name: string;
    version: number;
    rule: {
      order: TrackOrder;
      seed: string | null;
      limit: number;
      filter: {
        genres: Array<string>;
        artists: Array<string>;
        albums: Array<string>;
        titleStartsWith: string | null;
        titleContains: string | null;
        path: string | null;
        fromYear: number | null;
        toYear: number | null;
        favourite: boolean | null;
        minRating: number | null;
        maxRating: number | null;
        minPlays: number | null;
        maxPlays: number | null;
        playedSince: string | null;
        playedWithinDays: number | null;
        addedSince: string | null;
        addedWithinDays: number | null;
        anyOf: Array<{
          genres: Array<string>;
          artists: Array<string>;
          albums: Array<string>;
          titleStartsWith: string | null;
          titleContains: string | null;
          path: string | null;
          fromYear: number | null;
          toYear: number | null;
          favourite: boolean | null;
          minRating: number | null;
          maxRating: number | null;
          minPlays: number | null;
          maxPlays: number | null;
          playedSince: string | null;
          playedWithinDays: number | null;
          addedSince: string | null;
          addedWithinDays: number | null;
          anyOf: Array<{ path: string | null }>;
          noneOf: Array<{ path: string | null }>;
        }>;
        noneOf: Array<{
          genres: Array<string>;
          artists: Array<string>;
          albums: Array<string>;
          titleStartsWith: string | null;
          titleContains: string | null;
          path: string | null;
          fromYear: number | null;
          toYear: number | null;
          favourite: boolean | null;
          minRating: number | null;
          maxRating: number | null;
          minPlays: number | null;
          maxPlays: number | null;
          playedSince: string | null;
          playedWithinDays: number | null;
          addedSince: string | null;
          addedWithinDays: number | null;
          anyOf: Array<{ path: string | null }>;
          noneOf: Array<{ path: string | null }>;
        }>;
      };
    } | null;
    entries: {
      nodes: Array<{
        id: string;
        title: string | null;
        missing: boolean;
        audio: {
          id: string;
          title: string;
          displayArtist: string | null;
          durationMs: number;
          favouriteAt: string | null;
          artworkUrl: { url: string } | null;
          album: { id: string; name: string } | null;
        } | null;
      }>;
      pageInfo: { hasNextPage: boolean; endCursor: string | null };
    };
  } | null;
};

export type CreatePlaylistMutationVariables = Exact<{
  input: CreatePlaylistInput;
}>;

export type CreatePlaylistMutation = {
  createPlaylist:
    | { __typename: "CreatePlaylistPayload"; playlist: { id: string } }
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
      };
};

export type RenamePlaylistMutationVariables = Exact<{
  input: RenamePlaylistInput;
}>;

export type RenamePlaylistMutation = {
  renamePlaylist:
    | { __typename: "RenamePlaylistPayload" }
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
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      };
};

export type DeletePlaylistMutationVariables = Exact<{
  input: DeletePlaylistInput;
}>;

export type DeletePlaylistMutation = {
  deletePlaylist:
    | { __typename: "DeletePlaylistPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      };
};

export type AddToPlaylistMutationVariables = Exact<{
  input: AddPlaylistEntriesInput;
}>;

export type AddToPlaylistMutation = {
  addPlaylistEntries:
    | { __typename: "AddPlaylistEntriesPayload" }
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
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type MoveEntriesMutationVariables = Exact<{
  input: MovePlaylistEntriesInput;
}>;

export type MoveEntriesMutation = {
  movePlaylistEntries:
    | { __typename: "MovePlaylistEntriesPayload"; playlist: { id: string; version: number } }
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
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type RemoveEntriesMutationVariables = Exact<{
  input: RemovePlaylistEntriesInput;
}>;

export type RemoveEntriesMutation = {
  removePlaylistEntries:
    | { __typename: "RemovePlaylistEntriesPayload" }
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
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type CreateAudioUploadMutationVariables = Exact<{
  input: CreateAudioUploadInput;
}>;

export type CreateAudioUploadMutation = {
  createAudioUpload:
    | {
        __typename: "CreateAudioUploadPayload";
        objectKey: string;
        form: {
          method: string;
          url: string;
          fields: Array<{ name: string; value: string }>;
          headers: Array<{ name: string; value: string }>;
        };
      }
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
    | { __typename: "QuotaExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type AddAudioMutationVariables = Exact<{
  input: AddAudioInput;
}>;

export type AddAudioMutation = {
  addAudio:
    | { __typename: "AddAudioPayload" }
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
    | {
        __typename: "DuplicateObject";
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      }
    | { __typename: "QuotaExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type SetFavouriteMutationVariables = Exact<{
  input: SetFavouriteInput;
}>;

export type SetFavouriteMutation = {
  setFavourite:
    | { __typename: "SetFavouritePayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type CreateArtworkUploadMutationVariables = Exact<{
  input: CreateArtworkUploadInput;
}>;

export type CreateArtworkUploadMutation = {
  createArtworkUpload:
    | {
        __typename: "CreateArtworkUploadPayload";
        objectKey: string;
        form: {
          method: string;
          url: string;
          fields: Array<{ name: string; value: string }>;
          headers: Array<{ name: string; value: string }>;
        };
      }
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
    | { __typename: "QuotaExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type SetArtworkMutationVariables = Exact<{
  input: SetArtworkInput;
}>;

export type SetArtworkMutation = {
  setArtwork:
    | { __typename: "SetArtworkPayload" }
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
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type RemoveArtworkMutationVariables = Exact<{
  input: RemoveArtworkInput;
}>;

export type RemoveArtworkMutation = {
  removeArtwork:
    | { __typename: "RemoveArtworkPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
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
        labels: Array<string>;
        activeFrom: string;
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
  states?: Array<State> | State | null | undefined;
  owner?: string | null | undefined;
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
      updatedBy: string;
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
  states?: Array<State> | State | null | undefined;
  owner?: string | null | undefined;
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
      updatedBy: string;
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
  states?: Array<State> | State | null | undefined;
  owner?: string | null | undefined;
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
      updatedBy: string;
      tags: Array<{ key: string; value: string }>;
    }>;
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
};

export type CatalogueMetricsQueryVariables = Exact<{
  group?: string | null | undefined;
  below?: boolean | null | undefined;
  tags?: TagFilter | null | undefined;
  name?: NameFilter | null | undefined;
  states?: Array<State> | State | null | undefined;
  owner?: string | null | undefined;
  order?: Order | null | undefined;
  after?: string | null | undefined;
}>;

export type CatalogueMetricsQuery = {
  list: {
    nodes: Array<{
      id: string;
      name: string;
      description: string | null;
      state: State;
      owner: string;
      updatedAt: string;
      updatedBy: string;
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
  states?: Array<State> | State | null | undefined;
  owner?: string | null | undefined;
  name?: NameFilter | null | undefined;
}>;

export type FacetKeysQuery = {
  tagKeys: {
    isComplete: boolean;
    resourceCount: number | null;
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
  states?: Array<State> | State | null | undefined;
  owner?: string | null | undefined;
  name?: NameFilter | null | undefined;
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
      keyColumns: Array<string>;
      rowCount: number;
      sizeBytes: string | number;
      checksum: string;
      columns: Array<{ name: string; description: string | null; type: ValueType }>;
    };
    download: { status: DownloadStatus; url: string | null };
    versions: {
      nodes: Array<{
        id: string;
        version: number;
        updatedAt: string;
        updatedBy: string;
        labels: Array<string>;
        activeFrom: string;
      }>;
    };
  } | null;
};

export type DatasetDiffQueryVariables = Exact<{
  id: string;
  from: number;
  to: number;
}>;

export type DatasetDiffQuery = {
  referenceDataset: {
    id: string;
    diff: Array<{ op: ChangeOperation; path: string; before: unknown; after: unknown }> | null;
  } | null;
};

export type EditedPipelineQueryVariables = Exact<{
  id: string;
}>;

export type EditedPipelineQuery = {
  pipeline: {
    id: string;
    name: string;
    description: string | null;
    state: State;
    owner: string;
    version: number;
    activeFrom: string;
    tags: Array<{ key: string; value: string }>;
    transformer: {
      extraColumns: ExtraColumns;
      timestamps: TimestampForm;
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
      rows: {
        key: Array<string>;
        time: string | null;
        group: string | null;
        keepDays: number | null;
      } | null;
      dataset: { key: Array<string>; referenceDatasetId: string } | null;
    };
  } | null;
};

export type EditedCalculationQueryVariables = Exact<{
  id: string;
}>;

export type EditedCalculationQuery = {
  calculation: {
    id: string;
    name: string;
    description: string | null;
    summary: string | null;
    state: State;
    owner: string;
    version: number;
    activeFrom: string;
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
    outputs: Array<{
      index: number;
      key: string | null;
      label: string | null;
      description: string | null;
      type: ValueType;
    }>;
  } | null;
};

export type EditedMetricQueryVariables = Exact<{
  id: string;
}>;

export type EditedMetricQuery = {
  metric: {
    id: string;
    name: string;
    description: string | null;
    state: State;
    owner: string;
    version: number;
    activeFrom: string;
    unit: string | null;
    function: MeasureFunction;
    tags: Array<{ key: string; value: string }>;
    inputs: Array<{
      name: string | null;
      output: string | null;
      pipelineId: string | null;
      metricId: string | null;
    }>;
  } | null;
};

export type EditedDatasetQueryVariables = Exact<{
  id: string;
}>;

export type EditedDatasetQuery = {
  dataset: {
    id: string;
    name: string;
    description: string | null;
    state: State;
    owner: string;
    version: number;
    activeFrom: string;
    tags: Array<{ key: string; value: string }>;
    content: {
      keyColumns: Array<string>;
      columns: Array<{ name: string; description: string | null; type: ValueType }>;
    };
  } | null;
};

export type SaveNewPipelineMutationVariables = Exact<{
  input: CreatePipelineInput;
}>;

export type SaveNewPipelineMutation = {
  createPipeline:
    | { __typename: "CreatePipelinePayload"; pipeline: { id: string } }
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
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "QuotaExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type SavePipelineMutationVariables = Exact<{
  input: UpdatePipelineInput;
}>;

export type SavePipelineMutation = {
  updatePipeline:
    | { __typename: "UpdatePipelinePayload"; pipeline: { id: string; version: number } }
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

export type SaveNewCalculationMutationVariables = Exact<{
  input: CreateCalculationInput;
}>;

export type SaveNewCalculationMutation = {
  createCalculation:
    | { __typename: "CreateCalculationPayload"; calculation: { id: string } }
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
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "QuotaExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type SaveCalculationMutationVariables = Exact<{
  input: UpdateCalculationInput;
}>;

export type SaveCalculationMutation = {
  updateCalculation:
    | { __typename: "UpdateCalculationPayload"; calculation: { id: string; version: number } }
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

export type SaveNewMetricMutationVariables = Exact<{
  input: CreateMetricInput;
}>;

export type SaveNewMetricMutation = {
  createMetric:
    | { __typename: "CreateMetricPayload"; metric: { id: string } }
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
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "QuotaExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type SaveMetricMutationVariables = Exact<{
  input: UpdateMetricInput;
}>;

export type SaveMetricMutation = {
  updateMetric:
    | { __typename: "UpdateMetricPayload"; metric: { id: string; version: number } }
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

export type OpenDatasetUploadMutationVariables = Exact<{
  input: CreateDatasetUploadInput;
}>;

export type OpenDatasetUploadMutation = {
  createDatasetUpload:
    | {
        __typename: "CreateDatasetUploadPayload";
        upload: {
          id: string;
          form: {
            method: string;
            url: string;
            expiresAt: string;
            fields: Array<{ name: string; value: string }>;
            headers: Array<{ name: string; value: string }>;
          };
        };
      }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "QuotaExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type SaveNewDatasetMutationVariables = Exact<{
  input: CreateReferenceDatasetInput;
}>;

export type SaveNewDatasetMutation = {
  createReferenceDataset:
    | {
        __typename: "CreateReferenceDatasetPayload";
        referenceDataset: { id: string; version: number };
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
    | { __typename: "NameTaken"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "QuotaExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type SaveDatasetMutationVariables = Exact<{
  input: UpdateReferenceDatasetInput;
}>;

export type SaveDatasetMutation = {
  updateReferenceDataset:
    | {
        __typename: "UpdateReferenceDatasetPayload";
        referenceDataset: { id: string; version: number };
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

export type LoadDatasetMutationVariables = Exact<{
  input: LoadReferenceDatasetInput;
}>;

export type LoadDatasetMutation = {
  loadReferenceDataset:
    | { __typename: "LoadReferenceDatasetPayload"; job: { id: string } }
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
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type DeleteDatasetMutationVariables = Exact<{
  input: DeleteReferenceDatasetInput;
}>;

export type DeleteDatasetMutation = {
  deleteReferenceDataset:
    | { __typename: "DeleteReferenceDatasetPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "InUse"; message: string; code: ErrorCode; path: Array<string> | null }
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      };
};

export type DeletePipelineMutationVariables = Exact<{
  input: DeletePipelineInput;
}>;

export type DeletePipelineMutation = {
  deletePipeline:
    | { __typename: "DeletePipelinePayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "InUse"; message: string; code: ErrorCode; path: Array<string> | null }
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      };
};

export type DeleteCalculationMutationVariables = Exact<{
  input: DeleteCalculationInput;
}>;

export type DeleteCalculationMutation = {
  deleteCalculation:
    | { __typename: "DeleteCalculationPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "InUse"; message: string; code: ErrorCode; path: Array<string> | null }
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      };
};

export type DeleteMetricMutationVariables = Exact<{
  input: DeleteMetricInput;
}>;

export type DeleteMetricMutation = {
  deleteMetric:
    | { __typename: "DeleteMetricPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "InUse"; message: string; code: ErrorCode; path: Array<string> | null }
    | {
        __typename: "VersionConflict";
        currentVersion: number;
        message: string;
        code: ErrorCode;
        path: Array<string> | null;
      };
};

export type CompletePipelineQueryVariables = Exact<{
  prefix: string;
  group?: string | null | undefined;
}>;

export type CompletePipelineQuery = { pipelines: { nodes: Array<{ name: string }> } };

export type PipelineOutputsQueryVariables = Exact<{
  name: string;
  group?: string | null | undefined;
}>;

export type PipelineOutputsQuery = {
  pipelineByName: {
    id: string;
    transformer: {
      transforms: Array<{ outputs: Array<{ key: string | null; label: string | null }> }>;
    };
  } | null;
};

export type CompleteMetricQueryVariables = Exact<{
  prefix: string;
  group?: string | null | undefined;
}>;

export type CompleteMetricQuery = { metrics: { nodes: Array<{ name: string }> } };

export type CompleteCalculationQueryVariables = Exact<{
  prefix: string;
  group?: string | null | undefined;
}>;

export type CompleteCalculationQuery = {
  calculations: { nodes: Array<{ name: string; parameters: Array<{ key: string }> }> };
};

export type CompleteDatasetQueryVariables = Exact<{
  prefix: string;
  group?: string | null | undefined;
}>;

export type CompleteDatasetQuery = { referenceDatasets: { nodes: Array<{ name: string }> } };

export type DryRunPipelineQueryVariables = Exact<{
  input: EvaluatePipelineInput;
}>;

export type DryRunPipelineQuery = {
  evaluatePipeline:
    | {
        __typename: "EvaluatePipelinePayload";
        results: {
          rows: Array<unknown>;
          problems: Array<{ row: number; column: string | null; code: string; message: string }>;
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
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
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
  input: { name: string | null; sizeBytes: string | number | null; readAs: string | null };
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
  rejections: Array<{ code: string; column: string | null; rows: string | number }> | null;
  pipeline: {
    id: string;
    name: string;
    owner: string;
    groups: Array<string>;
    transformer: { rows: { key: Array<string> } | null };
  };
  reusedFrom: { id: string; createdAt: string } | null;
  pins: Array<{ kind: string; id: string; version: number; name: string }>;
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
    inputDownload: {
      status: DownloadStatus;
      url: string | null;
      sizeBytes: string | number | null;
    } | null;
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
    input: { name: string | null; sizeBytes: string | number | null; readAs: string | null };
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
    rejections: Array<{ code: string; column: string | null; rows: string | number }> | null;
    pipeline: {
      id: string;
      name: string;
      owner: string;
      groups: Array<string>;
      transformer: { rows: { key: Array<string> } | null };
    };
    reusedFrom: { id: string; createdAt: string } | null;
    pins: Array<{ kind: string; id: string; version: number; name: string }>;
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
    input: { name: string | null; sizeBytes: string | number | null; readAs: string | null };
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
    rejections: Array<{ code: string; column: string | null; rows: string | number }> | null;
    pipeline: {
      id: string;
      name: string;
      owner: string;
      groups: Array<string>;
      transformer: { rows: { key: Array<string> } | null };
    };
    reusedFrom: { id: string; createdAt: string } | null;
    pins: Array<{ kind: string; id: string; version: number; name: string }>;
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
          outputs: Array<{ key: string | null; label: string | null; type: ValueType }>;
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

export type OutputRowExplanationQueryVariables = Exact<{
  id: string;
  row: number;
}>;

export type OutputRowExplanationQuery = {
  execution: {
    id: string;
    explanation: {
      row: number;
      input: unknown;
      outputs: Array<{
        key: string;
        formula: string;
        explanation: {
          value: { type: FormulaValueType; text: string | null };
          parts: Array<{
            depth: number;
            parent: number | null;
            called: boolean;
            text: string;
            evaluated: boolean;
            value: { type: FormulaValueType; text: string | null } | null;
          }>;
        };
      }>;
    };
  } | null;
};

export type ExecutionRowFragment = {
  id: string;
  state: ExecutionState;
  stateMessage: string | null;
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
  duration?: DurationFilter | null | undefined;
  order?: ExecutionOrder | null | undefined;
  after?: string | null | undefined;
}>;

export type ExecutionsQuery = {
  executions: {
    nodes: Array<{
      id: string;
      state: ExecutionState;
      stateMessage: string | null;
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
      stateMessage: string | null;
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

export type PipelineChoicesQueryVariables = Exact<{
  group?: string | null | undefined;
  name?: NameFilter | null | undefined;
}>;

export type PipelineChoicesQuery = {
  pipelines: { nodes: Array<{ id: string; name: string; owner: string }> };
};

export type ChosenPipelineQueryVariables = Exact<{
  id: string;
}>;

export type ChosenPipelineQuery = { pipeline: { id: string; name: string } | null };

export type GroupDetailsQueryVariables = Exact<{
  path: string;
}>;

export type GroupDetailsQuery = {
  group: {
    path: string;
    name: string;
    description: string | null;
    state: GroupState;
    disabledThrough: string | null;
    createdAt: string | null;
    createdBy: string | null;
    tags: Array<{ key: string; value: string }>;
    parent: { path: string } | null;
    children: { nodes: Array<{ path: string; name: string }>; pageInfo: { hasNextPage: boolean } };
    quotas: Array<{
      kind: QuotaKind;
      maximum: string | number | null;
      used: string | number;
    }> | null;
    history: {
      nodes: Array<{
        at: string;
        by: string;
        action: HistoryAction;
        subject: string;
        group: string | null;
        state: string | null;
        roles: Array<string>;
      }>;
    } | null;
  } | null;
};

export type CreateGroupMutationVariables = Exact<{
  input: CreateGroupInput;
}>;

export type CreateGroupMutation = {
  createGroup:
    | { __typename: "CreateGroupPayload"; group: { path: string } }
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
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type UpdateGroupMutationVariables = Exact<{
  input: UpdateGroupInput;
}>;

export type UpdateGroupMutation = {
  updateGroup:
    | { __typename: "UpdateGroupPayload" }
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
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type DeleteGroupMutationVariables = Exact<{
  input: DeleteGroupInput;
}>;

export type DeleteGroupMutation = {
  deleteGroup:
    | { __typename: "DeleteGroupPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type ApiKeysQueryVariables = Exact<{ [key: string]: never }>;

export type ApiKeysQuery = {
  viewer: {
    apiKeys: {
      nodes: Array<{
        id: string;
        name: string;
        createdAt: string;
        expiresAt: string;
        roles: Array<{ group: string; role: Role }>;
      }>;
    } | null;
  };
};

export type CreateApiKeyMutationVariables = Exact<{
  input: CreateApiKeyInput;
}>;

export type CreateApiKeyMutation = {
  createApiKey:
    | { __typename: "CreateApiKeyPayload"; secret: string }
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
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type RevokeApiKeyMutationVariables = Exact<{
  input: RevokeApiKeyInput;
}>;

export type RevokeApiKeyMutation = {
  revokeApiKey:
    | { __typename: "RevokeApiKeyPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type ManifestRulesFragment = {
  consumers: Array<string>;
  consumes: string | null;
  isFilled: boolean;
  retries: { maxAttempts: number; firstDelaySeconds: number; longestDelaySeconds: number } | null;
};

export type RunFactsFragment = {
  id: string;
  group: string;
  runId: string;
  state: RunState;
  toSkip: boolean;
  skipReason: string | null;
  addedAt: string;
  addedBy: string;
  processedAt: string | null;
  loadedAt: string | null;
  loadedBy: string | null;
  attempt: number;
  leaseOwner: string | null;
  leaseUntil: string | null;
  lastError: string | null;
  retryAt: string | null;
  savedTo: string | null;
  shredTypes: Array<string> | null;
  pipeline: string | null;
  batch: string | null;
  tags: Array<{ key: string; value: string }>;
  counts: Array<{ name: string; count: string | number }> | null;
};

export type ManifestListQueryVariables = Exact<{
  group?: string | null | undefined;
  after?: string | null | undefined;
}>;

export type ManifestListQuery = {
  manifests: {
    nodes: Array<{
      id: string;
      name: string;
      group: string;
      runCount: number;
      createdAt: string;
      createdBy: string;
      consumers: Array<string>;
      consumes: string | null;
      isFilled: boolean;
      retries: {
        maxAttempts: number;
        firstDelaySeconds: number;
        longestDelaySeconds: number;
      } | null;
    }>;
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
};

export type ManifestRunsQueryVariables = Exact<{
  group?: string | null | undefined;
  manifest: string;
  state?: RunState | null | undefined;
  tag?: TagInput | null | undefined;
  batch?: string | null | undefined;
  after?: string | null | undefined;
}>;

export type ManifestRunsQuery = {
  runs: {
    nodes: Array<{
      id: string;
      group: string;
      runId: string;
      state: RunState;
      toSkip: boolean;
      skipReason: string | null;
      addedAt: string;
      addedBy: string;
      processedAt: string | null;
      loadedAt: string | null;
      loadedBy: string | null;
      attempt: number;
      leaseOwner: string | null;
      leaseUntil: string | null;
      lastError: string | null;
      retryAt: string | null;
      savedTo: string | null;
      shredTypes: Array<string> | null;
      pipeline: string | null;
      batch: string | null;
      tags: Array<{ key: string; value: string }>;
      counts: Array<{ name: string; count: string | number }> | null;
    }>;
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
};

export type StuckRunsQueryVariables = Exact<{
  group?: string | null | undefined;
  manifest: string;
  after?: string | null | undefined;
}>;

export type StuckRunsQuery = {
  staleRuns: {
    nodes: Array<{
      id: string;
      group: string;
      runId: string;
      state: RunState;
      toSkip: boolean;
      skipReason: string | null;
      addedAt: string;
      addedBy: string;
      processedAt: string | null;
      loadedAt: string | null;
      loadedBy: string | null;
      attempt: number;
      leaseOwner: string | null;
      leaseUntil: string | null;
      lastError: string | null;
      retryAt: string | null;
      savedTo: string | null;
      shredTypes: Array<string> | null;
      pipeline: string | null;
      batch: string | null;
      tags: Array<{ key: string; value: string }>;
      counts: Array<{ name: string; count: string | number }> | null;
    }>;
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
};

export type RunHistoryQueryVariables = Exact<{
  group?: string | null | undefined;
  manifest: string;
  runId: string;
}>;

export type RunHistoryQuery = {
  run: {
    id: string;
    history: {
      nodes: Array<{
        seq: number;
        action: RunAction;
        before: RunState | null;
        after: RunState;
        at: string;
        by: string;
        reason: string | null;
        error: string | null;
      }>;
    };
  } | null;
};

export type RecoverRunMutationVariables = Exact<{
  input: RecoverRunInput;
}>;

export type RecoverRunMutation = {
  recoverRun:
    | { __typename: "RecoverRunPayload" }
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
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type ResetRunMutationVariables = Exact<{
  input: ResetRunInput;
}>;

export type ResetRunMutation = {
  resetRun:
    | { __typename: "ResetRunPayload" }
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
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type RetryRunMutationVariables = Exact<{
  input: RetryRunInput;
}>;

export type RetryRunMutation = {
  retryRun:
    | { __typename: "RetryRunPayload" }
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
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type SkipRunMutationVariables = Exact<{
  input: SkipRunInput;
}>;

export type SkipRunMutation = {
  skipRun:
    | { __typename: "SkipRunPayload" }
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
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type UnskipRunMutationVariables = Exact<{
  input: UnskipRunInput;
}>;

export type UnskipRunMutation = {
  unskipRun:
    | { __typename: "UnskipRunPayload" }
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
    | { __typename: "IllegalState"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type MetricDetailsQueryVariables = Exact<{
  id: string;
  asAt?: string | null | undefined;
}>;

export type MetricDetailsQuery = {
  metric: {
    id: string;
    name: string;
    description: string | null;
    state: State;
    owner: string;
    version: number;
    updatedAt: string;
    updatedBy: string;
    unit: string | null;
    function: MeasureFunction;
    tags: Array<{ key: string; value: string }>;
    inputs: Array<{
      name: string | null;
      output: string | null;
      pipelineId: string | null;
      metricId: string | null;
    }>;
    versions: {
      nodes: Array<{
        id: string;
        version: number;
        updatedAt: string;
        updatedBy: string;
        labels: Array<string>;
        activeFrom: string;
      }>;
    };
  } | null;
};

export type MetricSeriesQueryVariables = Exact<{
  id: string;
  group?: string | null | undefined;
  from: string;
  to: string;
  every: Every;
  breakdown: MetricBreakdown;
}>;

export type MetricSeriesQuery = {
  metric: {
    id: string;
    series: {
      isComplete: boolean;
      points: Array<{
        start: string;
        end: string;
        group: string | null;
        input: number | null;
        value: string | null;
        sources: Array<{
          pipelineId: string;
          output: string;
          group: string | null;
          includeChildGroups: boolean;
          from: string;
          to: string;
          asAt: string;
          rows: number;
          value: string | null;
        }>;
      }>;
    };
  } | null;
};

export type TransformerFactsFragment = {
  extraColumns: ExtraColumns;
  timestamps: TimestampForm;
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
  rows: {
    key: Array<string>;
    time: string | null;
    group: string | null;
    keepDays: number | null;
  } | null;
  dataset: { key: Array<string>; referenceDatasetId: string } | null;
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
    activeFrom: string;
    groups: Array<string>;
    tags: Array<{ key: string; value: string }>;
    transformer: {
      extraColumns: ExtraColumns;
      timestamps: TimestampForm;
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
      rows: {
        key: Array<string>;
        time: string | null;
        group: string | null;
        keepDays: number | null;
      } | null;
      dataset: { key: Array<string>; referenceDatasetId: string } | null;
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
        labels: Array<string>;
        updatedAt: string;
        updatedBy: string;
        activeFrom: string;
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
        stateMessage: string | null;
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

export type KeptRowsQueryVariables = Exact<{
  id: string;
  group?: string | null | undefined;
  below: boolean;
  from?: string | null | undefined;
  to?: string | null | undefined;
  where?: Array<RowConditionInput> | RowConditionInput | null | undefined;
  asAt?: string | null | undefined;
  after?: string | null | undefined;
}>;

export type KeptRowsQuery = {
  pipeline: {
    id: string;
    rows: {
      nodes: Array<{
        id: string;
        key: Array<string>;
        values: unknown;
        time: string | null;
        group: string;
        withdrawn: boolean;
        execution: { id: string };
      }>;
      pageInfo: { hasNextPage: boolean; endCursor: string | null };
    };
  } | null;
};

export type RowTotalsQueryVariables = Exact<{
  id: string;
  group?: string | null | undefined;
  below: boolean;
  from?: string | null | undefined;
  to?: string | null | undefined;
  where?: Array<RowConditionInput> | RowConditionInput | null | undefined;
  asAt?: string | null | undefined;
  every?: Every | null | undefined;
  by?: Array<string> | string | null | undefined;
  measures: Array<MeasureInput> | MeasureInput;
  after?: string | null | undefined;
}>;

export type RowTotalsQuery = {
  pipeline: {
    id: string;
    totals: {
      nodes: Array<{
        start: string | null;
        end: string | null;
        rows: number;
        by: Array<{ output: string; value: string | null }>;
        measures: Array<{ name: string; value: string | null }>;
      }>;
      pageInfo: { hasNextPage: boolean; endCursor: string | null };
    };
  } | null;
};

export type RowPipelineQueryVariables = Exact<{
  id: string;
}>;

export type RowPipelineQuery = {
  pipeline: {
    id: string;
    name: string;
    owner: string;
    groups: Array<string>;
    transformer: {
      extraColumns: ExtraColumns;
      timestamps: TimestampForm;
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
      rows: {
        key: Array<string>;
        time: string | null;
        group: string | null;
        keepDays: number | null;
      } | null;
      dataset: { key: Array<string>; referenceDatasetId: string } | null;
    };
  } | null;
};

export type RowHistoryQueryVariables = Exact<{
  id: string;
}>;

export type RowHistoryQuery = {
  node:
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | {
        id: string;
        history: {
          nodes: Array<{
            id: string;
            values: unknown;
            at: string;
            withdrawn: boolean;
            reason: string | null;
            pipelineVersion: number;
            execution: {
              id: string;
              createdBy: string;
              tags: Array<{ key: string; value: string }>;
            };
          }>;
        };
      }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | null;
};

export type RowExplanationQueryVariables = Exact<{
  id: string;
}>;

export type RowExplanationQuery = {
  node:
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | {
        id: string;
        explanation: {
          row: number;
          input: unknown;
          outputs: Array<{
            key: string;
            formula: string;
            explanation: {
              value: { type: FormulaValueType; text: string | null };
              parts: Array<{
                depth: number;
                parent: number | null;
                called: boolean;
                text: string;
                evaluated: boolean;
                value: { type: FormulaValueType; text: string | null } | null;
              }>;
            };
          }>;
        };
        execution: {
          id: string;
          pins: Array<{ kind: string; id: string; version: number; name: string }>;
        };
      }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | { id: string }
    | null;
};

export type WithdrawRowMutationVariables = Exact<{
  input: WithdrawRowsInput;
}>;

export type WithdrawRowMutation = {
  withdrawRows:
    | { __typename: "WithdrawRowsPayload"; count: number }
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
    groups: Array<string>;
    version: number;
    transformer: {
      extraColumns: ExtraColumns;
      timestamps: TimestampForm;
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
      rows: {
        key: Array<string>;
        time: string | null;
        group: string | null;
        keepDays: number | null;
      } | null;
      dataset: { key: Array<string>; referenceDatasetId: string } | null;
    };
  } | null;
};

export type UploadFragment = {
  method: string;
  url: string;
  expiresAt: string;
  fields: Array<{ name: string; value: string }>;
  headers: Array<{ name: string; value: string }>;
};

export type WaitingUploadQueryVariables = Exact<{
  id: string;
}>;

export type WaitingUploadQuery = {
  execution: {
    id: string;
    state: ExecutionState;
    readyAt: string | null;
    input: { name: string | null };
    upload: {
      method: string;
      url: string;
      expiresAt: string;
      fields: Array<{ name: string; value: string }>;
      headers: Array<{ name: string; value: string }>;
    } | null;
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

export type SensorServicesQueryVariables = Exact<{
  after?: string | null | undefined;
}>;

export type SensorServicesQuery = {
  ngsiServices: {
    nodes: Array<{ name: string }>;
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
};

export type SensorPathsQueryVariables = Exact<{
  service: string;
  after?: string | null | undefined;
}>;

export type SensorPathsQuery = {
  ngsiService: {
    servicePaths: {
      nodes: Array<{ path: string }>;
      pageInfo: { hasNextPage: boolean; endCursor: string | null };
    };
  } | null;
};

export type SensorEntitiesQueryVariables = Exact<{
  service: string;
  path: string;
  after?: string | null | undefined;
}>;

export type SensorEntitiesQuery = {
  ngsiService: {
    servicePath: {
      entities: {
        nodes: Array<{ entityId: string; entityType: string }>;
        pageInfo: { hasNextPage: boolean; endCursor: string | null };
      };
    } | null;
  } | null;
};

export type EntityAttributesQueryVariables = Exact<{
  service: string;
  path: string;
  entity: string;
  type: string;
  after?: string | null | undefined;
}>;

export type EntityAttributesQuery = {
  ngsiService: {
    servicePath: {
      entity: {
        attributes: {
          nodes: Array<{ name: string; latest: { time: string; text: string | null } | null }>;
          pageInfo: { hasNextPage: boolean; endCursor: string | null };
        };
      } | null;
    } | null;
  } | null;
};

export type SensorSeriesQueryVariables = Exact<{
  service: string;
  path: string;
  entity: string;
  type: string;
  attribute: string;
}>;

export type SensorSeriesQuery = {
  ngsiService: {
    servicePath: {
      entity: {
        attribute: {
          name: string;
          series: { nodes: Array<{ time: string; text: string | null; number: string | null }> };
        } | null;
      } | null;
    } | null;
  } | null;
};

export type SensorSamplesSubscriptionVariables = Exact<{
  service: string;
  path: string;
  entity: string;
  type: string;
  attribute: string;
}>;

export type SensorSamplesSubscription = {
  ngsiSamples: { time: string; text: string | null; number: string | null };
};

export type SinkLettersQueryVariables = Exact<{
  service: string;
  path: string;
  after?: string | null | undefined;
}>;

export type SinkLettersQuery = {
  ngsiService: {
    servicePath: {
      counts: {
        received: string | number;
        persisted: string | number;
        duplicates: string | number;
        deadLettered: string | number;
        pending: string | number;
      };
      deadLetters: {
        nodes: Array<{
          id: string;
          reason: string;
          code: ErrorCode | null;
          events: number;
          attempts: number;
          firstSeen: string;
        }>;
        pageInfo: { hasNextPage: boolean; endCursor: string | null };
      };
    } | null;
  } | null;
};

export type ReplayLettersMutationVariables = Exact<{
  input: ReplayDeadLettersInput;
}>;

export type ReplayLettersMutation = {
  replayDeadLetters:
    | {
        __typename: "ReplayDeadLettersPayload";
        replayed: Array<{ events: number; dead: number }>;
        failures: Array<{ id: string; message: string }>;
      }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type DeleteLettersMutationVariables = Exact<{
  input: DeleteDeadLettersInput;
}>;

export type DeleteLettersMutation = {
  deleteDeadLetters:
    | { __typename: "DeleteDeadLettersPayload" }
    | { __typename: "NotFound"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "NotPermitted"; message: string; code: ErrorCode; path: Array<string> | null }
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type DeleteSamplesMutationVariables = Exact<{
  input: DeleteNgsiSamplesInput;
}>;

export type DeleteSamplesMutation = {
  deleteNgsiSamples:
    | { __typename: "DeleteNgsiSamplesPayload" }
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
    | { __typename: "LimitExceeded"; message: string; code: ErrorCode; path: Array<string> | null };
};

export type SystemStateQueryVariables = Exact<{ [key: string]: never }>;

export type SystemStateQuery = {
  system: {
    version: string;
    store: StoreKind;
    executions: { waiting: number; running: number; oldestSeconds: number };
    jobs: { unfinished: number; oldestSeconds: number };
    sink: { events: number; size: string | number; troubledDestinations: number } | null;
    problems: Array<{ check: string; message: string; advice: string | null }>;
    settings: Array<{ name: string; value: string | null; isDefault: boolean }>;
  } | null;
  workers: {
    nodes: Array<{
      name: string;
      kind: WorkerKind;
      host: string | null;
      process: number | null;
      places: number | null;
      running: number;
      version: string | null;
      startedAt: string | null;
      seenAt: string | null;
    }>;
  };
};
