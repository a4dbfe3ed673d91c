/**
 * The rows of the input from which the first rows of the output come: those that were not rejected, in
 * order. Behind the last rejected row that is known nothing is known, unless all are.
 */
export function inputRowsOf(
  outputs: number,
  rejected: readonly number[],
  knowsAll: boolean,
): (number | null)[] {
  const out = new Set(rejected);
  const last = knowsAll ? Infinity : Math.max(0, ...rejected);
  const found: (number | null)[] = [];
  for (let row = 1; found.length < outputs; row += 1) {
    if (!out.has(row)) found.push(row <= last ? row : null);
  }
  return found;
}
