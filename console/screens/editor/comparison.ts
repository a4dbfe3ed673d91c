import type { Draft } from "./draft";

type Value = unknown;
type Fields = Readonly<Record<string, Value>>;

export interface Difference {
  readonly op: "ADD" | "REMOVE" | "REPLACE";
  readonly path: string;
  readonly before?: Value;
  readonly after?: Value;
}

const isSame = (one: Value, other: Value) => JSON.stringify(one) === JSON.stringify(other);
const isFields = (value: Value): value is Fields => typeof value === "object" && value !== null;

/** Whether values can be compared part by part: objects, or lists of one length. */
function isAlike(one: Value, other: Value): boolean {
  if (Array.isArray(one) || Array.isArray(other)) {
    return Array.isArray(one) && Array.isArray(other) && one.length === other.length;
  }
  return isFields(one) && isFields(other);
}

/** The places in which two drafts differ, as deep as they are alike; versions aside. */
export function compareDrafts(theirs: Draft, mine: Draft): Difference[] {
  return differences(withoutVersion(theirs), withoutVersion(mine), "");
}

const withoutVersion = (draft: Draft): Fields => ({ ...draft, version: null });

function differences(before: Value, after: Value, path: string): Difference[] {
  if (isSame(before, after)) return [];
  const below = (name: string) => (path ? `${path}.${name}` : name);
  if (Array.isArray(before) && Array.isArray(after)) {
    return Array.from({ length: Math.max(before.length, after.length) }).flatMap((_, index) => {
      const place = below(String(index + 1));
      if (index >= before.length) return [{ op: "ADD", path: place, after: after[index] as Value }];
      if (index >= after.length) {
        return [{ op: "REMOVE", path: place, before: before[index] as Value }];
      }
      return differences(before[index], after[index], place);
    });
  }
  if (isFields(before) && isFields(after)) {
    return Object.keys(after).flatMap((name) =>
      differences(before[name], after[name], below(name)),
    );
  }
  return [{ op: "REPLACE", path, before, after }];
}

/** Their draft with what this one changed since `base`; null if both changed one thing. */
export function mergeDrafts(base: Draft, theirs: Draft, mine: Draft): Draft | null {
  try {
    const merged = merge(withoutVersion(base), withoutVersion(theirs), withoutVersion(mine));
    return { ...(merged as Draft), version: theirs.version };
  } catch (error) {
    if (error instanceof Clash) return null;
    throw error;
  }
}

class Clash extends Error {}

function merge(base: Value, theirs: Value, mine: Value): Value {
  if (isSame(mine, base) || isSame(mine, theirs)) return theirs;
  if (isSame(theirs, base)) return mine;
  if (!isAlike(base, theirs) || !isAlike(base, mine)) throw new Clash();
  if (Array.isArray(mine)) {
    return mine.map((one, index) =>
      merge((base as Value[])[index], (theirs as Value[])[index], one),
    );
  }
  const [first, other] = [base as Fields, theirs as Fields];
  return Object.fromEntries(
    Object.entries(mine as Fields).map(([name, value]) => [
      name,
      merge(first[name], other[name], value),
    ]),
  );
}
