export const MODES = ["all", "any", "none"] as const;
export type Mode = (typeof MODES)[number];
/** The parameters of the address that make up the filter. */
export const PARTS = [...MODES, "without"] as const;

export interface FilterTag {
  readonly key: string;
  readonly value: string;
}

/** Tags in three modes, and the keys with which there must be no tag. */
export interface Filter extends Readonly<Record<Mode, readonly FilterTag[]>> {
  readonly without: readonly string[];
}

/** A tag as a parameter of the address: `key=value`, with `=` and `%` in the key escaped. */
export function writeTag({ key, value }: FilterTag): string {
  return `${key.replaceAll("%", "%25").replaceAll("=", "%3D")}=${value}`;
}

/** Read such a parameter; null if it is none. */
export function readTag(text: string): FilterTag | null {
  const end = text.indexOf("=");
  if (end < 1) return null;
  const key = text.slice(0, end).replaceAll("%3D", "=").replaceAll("%25", "%");
  return { key, value: text.slice(end + 1) };
}

export function readFilter(search: URLSearchParams): Filter {
  const tags = (mode: Mode) =>
    search
      .getAll(mode)
      .map(readTag)
      .filter((tag) => tag !== null);
  return {
    all: tags("all"),
    any: tags("any"),
    none: tags("none"),
    without: search.getAll("without").filter(Boolean),
  };
}

/** The filter as parameters of the address. */
export function writeFilter(filter: Filter): Readonly<Record<string, readonly string[]>> {
  return {
    ...Object.fromEntries(MODES.map((mode) => [mode, filter[mode].map(writeTag)])),
    without: filter.without,
  };
}

/** The filter as the API takes it; null if it does not restrict. */
export function toInput({ all, any, none, without }: Filter) {
  if (all.length + any.length + none.length + without.length === 0) return null;
  return {
    ...(all.length > 0 ? { all: [...all] } : {}),
    ...(any.length > 0 ? { any: [...any] } : {}),
    ...(none.length > 0 ? { none: [...none] } : {}),
    ...(without.length > 0 ? { withoutKeys: [...without] } : {}),
  };
}

/** The mode in which a filter has a tag; null if it has not. */
export function modeOf(filter: Filter, tag: FilterTag): Mode | null {
  const written = writeTag(tag);
  return MODES.find((mode) => filter[mode].some((one) => writeTag(one) === written)) ?? null;
}

/** The filter that leaves out what carries a key at all, or no longer does. */
export function toggleKey(filter: Filter, key: string): Filter {
  const without = (tags: readonly FilterTag[]) => tags.filter((one) => one.key !== key);
  const isThere = filter.without.includes(key);
  return {
    all: without(filter.all),
    any: without(filter.any),
    none: without(filter.none),
    without: isThere ? filter.without.filter((one) => one !== key) : [...filter.without, key],
  };
}

/** The filter with a tag in a mode, or without it if it has it there. */
export function toggleTag(filter: Filter, mode: Mode, tag: FilterTag): Filter {
  const written = writeTag(tag);
  const present = modeOf(filter, tag);
  const without = (tags: readonly FilterTag[]) => tags.filter((one) => writeTag(one) !== written);
  const rest = {
    all: without(filter.all),
    any: without(filter.any),
    none: without(filter.none),
    without: filter.without,
  };
  return present === mode ? rest : { ...rest, [mode]: [...rest[mode], tag] };
}
