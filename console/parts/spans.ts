/** A span of time, as ISO 8601 times in UTC: from the first on, before the second. */
export interface Span {
  readonly from: string | null;
  readonly to: string | null;
}

export const SPANS = ["today", "yesterday", "this month", "this year", "last year"] as const;
export type SpanName = (typeof SPANS)[number];

/** The span of a name at a time, in the reader's zone or, as rows and metrics count, in UTC. */
export function spanOf(name: SpanName, now: Date, isUtc: boolean): Span {
  const [year, month, day] = isUtc
    ? [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
    : [now.getFullYear(), now.getMonth(), now.getDate()];
  const at = (...parts: [number, number, number]) =>
    (isUtc ? new Date(Date.UTC(...parts)) : new Date(...parts)).toISOString();
  switch (name) {
    case "today":
      return { from: at(year, month, day), to: null };
    case "yesterday":
      return { from: at(year, month, day - 1), to: at(year, month, day) };
    case "this month":
      return { from: at(year, month, 1), to: null };
    case "this year":
      return { from: at(year, 0, 1), to: null };
    case "last year":
      return { from: at(year - 1, 0, 1), to: at(year, 0, 1) };
  }
}

/** The name of a span; null if it has none. */
export function nameOfSpan({ from, to }: Span, now: Date, isUtc: boolean): SpanName | null {
  const isSame = (one: string | null, other: string | null) =>
    one === other || (one !== null && other !== null && Date.parse(one) === Date.parse(other));
  return (
    SPANS.find((name) => {
      const span = spanOf(name, now, isUtc);
      return isSame(span.from, from) && isSame(span.to, to);
    }) ?? null
  );
}
