export const MODES = ["all", "any", "none"] as const;
export type Mode = (typeof MODES)[number];

export interface FilterTag {
  readonly key: string;
  readonly value: string;
}

export type Filter = Readonly<Record<Mode, readonly FilterTag[]>>;

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
  return { all: tags("all"), any: tags("any"), none: tags("none") };
}

/** The filter as the API takes it; null without a tag. */
export function toInput({ all, any, none }: Filter) {
  if (all.length + any.length + none.length === 0) return null;
  return {
    ...(all.length > 0 ? { all: [...all] } : {}),
    ...(any.length > 0 ? { any: [...any] } : {}),
    ...(none.length > 0 ? { none: [...none] } : {}),
  };
}

/** The mode in which a filter has a tag; null if it has not. */
export function modeOf(filter: Filter, tag: FilterTag): Mode | null {
  const written = writeTag(tag);
  return MODES.find((mode) => filter[mode].some((one) => writeTag(one) === written)) ?? null;
}

/** The filter that excludes every value of a key: what carries the key at all is left out. */
export function excludeKey(filter: Filter, key: string, values: readonly string[]): Filter {
  const without = (tags: readonly FilterTag[]) => tags.filter((one) => one.key !== key);
  const excluded = values.map((value) => ({ key, value }));
  return {
    all: without(filter.all),
    any: without(filter.any),
    none: [...without(filter.none), ...excluded],
  };
}

/** The filter with a tag in a mode, or without it if it has it there. */
export function toggleTag(filter: Filter, mode: Mode, tag: FilterTag): Filter {
  const written = writeTag(tag);
  const present = modeOf(filter, tag);
  const without = (tags: readonly FilterTag[]) => tags.filter((one) => writeTag(one) !== written);
  const rest = { all: without(filter.all), any: without(filter.any), none: without(filter.none) };
  return present === mode ? rest : { ...rest, [mode]: [...rest[mode], tag] };
}
