/** The round number at or above a value: the top of an axis that begins at 0. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 4, 5, 10].find((one) => one * unit >= value * (1 - 1e-9)) ?? 10;
  return Number((factor * unit).toPrecision(1));
}

const STEPS = [1, 2, 3, 6, 12, 24, 60, 120];

/** The places of a row of so many that are named: at equal distances, and at most so many. */
export function namedPlaces(count: number, most: number): number[] {
  const step = STEPS.find((one) => count <= one * most) ?? Math.ceil(count / most);
  return Array.from({ length: Math.ceil(count / step) }, (_, place) => place * step);
}
