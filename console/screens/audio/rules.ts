import type {
  ConditionsFragment,
  PlaylistRuleInput,
  RuleFactsFragment,
  TrackFilterInput,
  TrackOrder,
} from "../../graphql/generated/types";
import { formatTime } from "../../parts/format";

/** The values of a condition: names, of which the last is still typed, or one text. */
export type Value = readonly string[];
export type Condition = Exclude<keyof TrackFilterInput, "anyOf" | "noneOf">;

interface ConditionField {
  readonly words: string;
  readonly kind: "names" | "text" | "number" | "star" | "time";
  /** What stands in it when it is added. */
  readonly first?: string;
}

export const CONDITIONS: Readonly<Record<Condition, ConditionField>> = {
  genres: { words: "Genre", kind: "names" },
  artists: { words: "Artist", kind: "names" },
  albums: { words: "Album", kind: "names" },
  titleContains: { words: "Title has words that begin with", kind: "text" },
  titleStartsWith: { words: "Title begins with", kind: "text" },
  path: { words: "Path of the file has", kind: "text" },
  fromYear: { words: "Year, earliest", kind: "number" },
  toYear: { words: "Year, latest", kind: "number" },
  favourite: { words: "Favourite", kind: "star", first: "yes" },
  minRating: { words: "Rating, lowest", kind: "number", first: "4" },
  maxRating: { words: "Rating, highest", kind: "number", first: "2" },
  minPlays: { words: "Plays, fewest", kind: "number", first: "1" },
  maxPlays: { words: "Plays, most (0 is never)", kind: "number", first: "0" },
  playedWithinDays: { words: "Played within days", kind: "number", first: "30" },
  playedSince: { words: "Played since", kind: "time" },
  addedWithinDays: { words: "Added within days", kind: "number", first: "30" },
  addedSince: { words: "Added since", kind: "time" },
};
export const CONDITION_NAMES = Object.keys(CONDITIONS) as Condition[];

export const TRACK_ORDERS: readonly (readonly [TrackOrder, string])[] = [
  ["TITLE", "by title"],
  ["ARTIST", "by artist, year and album"],
  ["ALBUM", "by album"],
  ["YEAR", "the latest year first"],
  ["NEWEST", "the last added first"],
  ["OLDEST", "the first added first"],
  ["MOST_PLAYED", "the most played first"],
  ["LEAST_PLAYED", "the least played first"],
  ["RECENTLY_PLAYED", "the last played first"],
  ["LEAST_RECENTLY_PLAYED", "the longest unplayed first"],
  ["HIGHEST_RATED", "the highest rated first"],
  ["LATEST_FAVOURITE", "the latest favourite first"],
  ["RANDOM", "by chance"],
];

export interface ConditionDraft {
  readonly name: Condition;
  readonly value: Value;
}

/** A filter while it is edited; within another one it has conditions only. */
export interface FilterDraft {
  readonly conditions: readonly ConditionDraft[];
  readonly anyOf: readonly FilterDraft[];
  readonly noneOf: readonly FilterDraft[];
}

export interface RuleDraft {
  readonly filter: FilterDraft;
  readonly order: TrackOrder;
  readonly seed: string;
  readonly limit: string;
}

export const NEW_FILTER: FilterDraft = { conditions: [], anyOf: [], noneOf: [] };
export const NEW_RULE: RuleDraft = { filter: NEW_FILTER, order: "ARTIST", seed: "", limit: "1000" };

export function newCondition(name: Condition): ConditionDraft {
  return { name, value: [CONDITIONS[name].first ?? ""] };
}

/** Whether a rule has filters deeper than a filter within its filter, which are not shown whole. */
export function isDeep({ filter }: RuleFactsFragment): boolean {
  return [...filter.anyOf, ...filter.noneOf].some(
    ({ anyOf, noneOf }) => anyOf.length + noneOf.length > 0,
  );
}

export function draftOf({ filter, order, seed, limit }: RuleFactsFragment): RuleDraft {
  const inner = (one: ConditionsFragment) => ({ ...NEW_FILTER, conditions: conditionsOf(one) });
  return {
    filter: {
      conditions: conditionsOf(filter),
      anyOf: filter.anyOf.map(inner),
      noneOf: filter.noneOf.map(inner),
    },
    order,
    seed: seed ?? "",
    limit: String(limit),
  };
}

function conditionsOf(filter: ConditionsFragment): ConditionDraft[] {
  return CONDITION_NAMES.flatMap((name) => {
    const value = filter[name];
    if (Array.isArray(value)) return value.length > 0 ? [{ name, value: [...value, ""] }] : [];
    if (value === null) return [];
    return [{ name, value: [typeof value === "boolean" ? (value ? "yes" : "no") : String(value)] }];
  });
}

export function ruleInput({ filter, order, seed, limit }: RuleDraft): PlaylistRuleInput {
  return {
    filter: filterInput(filter),
    order,
    seed: order === "RANDOM" && seed !== "" ? seed : null,
    limit: Number(limit),
  };
}

function filterInput({ conditions, anyOf, noneOf }: FilterDraft): TrackFilterInput {
  const values = conditions.map(({ name, value }) => [name, inputOf(name, value)]);
  return {
    ...(Object.fromEntries(values) as TrackFilterInput),
    ...(anyOf.length > 0 ? { anyOf: anyOf.map(filterInput) } : {}),
    ...(noneOf.length > 0 ? { noneOf: noneOf.map(filterInput) } : {}),
  };
}

function inputOf(name: Condition, value: Value): unknown {
  const [text = ""] = value;
  switch (CONDITIONS[name].kind) {
    case "names":
      return namesIn(value);
    case "number":
      return Number(text);
    case "star":
      return text === "yes";
    case "text":
    case "time":
      return text;
  }
}

function namesIn(value: Value): string[] {
  return value.map((one) => one.trim()).filter(Boolean);
}

/** What a rule demands, each condition in words. */
export function describeFilter({ conditions, anyOf, noneOf }: FilterDraft): string[] {
  const within = (filter: FilterDraft) => describeFilter(filter).join(", ");
  return [
    ...conditions.map(describeCondition),
    ...(anyOf.length > 0 ? [`one of: ${anyOf.map(within).join("; or ")}`] : []),
    ...(noneOf.length > 0 ? [`none of: ${noneOf.map(within).join("; or ")}`] : []),
  ];
}

function describeCondition({ name, value }: ConditionDraft): string {
  const { kind, words } = CONDITIONS[name];
  const [text = ""] = value;
  if (name === "maxPlays") return text === "0" ? "Never played" : `Plays, most: ${text}`;
  if (kind === "names") return `${words}: ${namesIn(value).join(" or ")}`;
  return `${words}: ${kind === "time" ? formatTime(text) : text}`;
}

/** An order of tracks in words. */
export function describeOrder(order: TrackOrder): string {
  return TRACK_ORDERS.find(([one]) => one === order)?.[1] ?? "";
}
