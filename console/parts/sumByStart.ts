export interface TimeValue {
  readonly start: string;
  readonly value: number;
}

interface Total {
  readonly start?: string | null;
  readonly value?: string | null | undefined;
}

/** The totals of each time as one number to draw, in the order of time. */
export function sumByStart(totals: readonly Total[]): TimeValue[] {
  const found = new Map<string, number>();
  for (const { start, value } of totals) {
    if (start) found.set(start, (found.get(start) ?? 0) + Number(value ?? 0));
  }
  return [...found].map(([start, value]) => ({ start, value }));
}
