const clock = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const numbers = new Intl.NumberFormat("en-US", { maximumFractionDigits: 6 });

/** Sets digits apart in threes, as in the tables. */
const NARROW_SPACE = "\u202f";

/** A time in the reader's zone. */
export function formatTime(time: string): string {
  return clock.format(new Date(time));
}

/** A time in UTC, as in the API. */
export function formatUtc(time: string): string {
  return new Date(time).toISOString().replace("T", " ").replace("Z", " UTC");
}

/** Values of an enumeration, each with its words. */
export function formatNames<Value extends string>(
  values: readonly Value[],
): (readonly [Value, string])[] {
  return values.map((value) => [value, formatName(value)]);
}

/** Whether a value is a timestamp in milliseconds since 1970, as some pipelines write them. */
export function isMilliseconds(value: unknown): boolean {
  return typeof value === "number" || (typeof value === "string" && /^-?\d+$/.test(value));
}

function readIso(value: unknown): Date {
  const isIso = typeof value === "string" && /^\d{4}-\d\d-\d\dT.*Z$/.test(value);
  return new Date(isIso ? value : NaN);
}

/** A timestamp in a row, in either form of a pipeline, as a time in UTC; undefined if it is none. */
export function formatTimestamp(value: unknown): string | undefined {
  const time = isMilliseconds(value) ? new Date(Number(value)) : readIso(value);
  if (Number.isNaN(time.getTime())) return undefined;
  return time
    .toISOString()
    .replace("T", " ")
    .replace(/((:00)?\.000)?Z$/, "");
}

export function formatNumber(value: number | string): string {
  return numbers.format(Number(value)).replaceAll(",", NARROW_SPACE);
}

/** Seconds as people say them. */
export function formatDuration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [
    Math.floor(whole / 3600),
    Math.floor((whole % 3600) / 60),
    whole % 60,
  ];
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${rest} s`;
}

/** The length of a track, as 3:07. */
export function formatLength(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  const [minutes, rest] = [Math.floor(seconds / 60), String(seconds % 60).padStart(2, "0")];
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}

export function formatBytes(bytes: number | string): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let [size, unit] = [Number(bytes), 0];
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit] ?? ""}`;
}

/** `IN_PROGRESS` as `in progress`. */
export function formatName(name: string): string {
  return name.toLowerCase().replaceAll("_", " ");
}
