export interface TimeTotal {
  readonly start: string;
  readonly total: number;
}

interface Total {
  readonly start?: string | null;
  readonly measures: readonly { readonly value?: string | null }[];
}

/** The totals of each time as one number to draw, in the order of time. */
export function groupByStart(totals: readonly Total[]): TimeTotal[] {
  const found = new Map<string, number>();
  for (const { start, measures } of totals) {
    if (start) found.set(start, (found.get(start) ?? 0) + Number(measures[0]?.value ?? 0));
  }
  return [...found].map(([start, total]) => ({ start, total }));
}
