import { expect, test } from "vitest";
import {
  formatBytes,
  formatDuration,
  formatLength,
  formatName,
  formatTimestamp,
  formatUtc,
} from "../parts/format";

test.each([
  [0.0123, "12 ms"],
  [12.34, "12.3 s"],
  [75, "1 min 15 s"],
  [7325, "2 h 2 min"],
])("%d seconds are %s", (seconds, words) => {
  expect(formatDuration(seconds)).toBe(words);
});

test.each([
  [187_000, "3:07"],
  [3_723_000, "1:02:03"],
])("a track of %d ms has the length %s", (milliseconds, words) => {
  expect(formatLength(milliseconds)).toBe(words);
});

test.each([
  [512, "512 bytes"],
  ["623498", "608.9 KiB"],
  [3 * 1024 ** 3, "3.0 GiB"],
])("%s bytes are %s", (bytes, words) => {
  expect(formatBytes(bytes)).toBe(words);
});

test("names of states and times in UTC are shown as people write them", () => {
  expect(formatName("IN_PROGRESS")).toBe("in progress");
  expect(formatUtc("2026-11-23T10:00:00+01:00")).toBe("2026-11-23 09:00:00.000 UTC");
});

test.each([
  [1612224000000, "2021-02-02 00:00"],
  ["1612224015000", "2021-02-02 00:00:15"],
  [1612224015250.0, "2021-02-02 00:00:15.250"],
  [-60_000, "1969-12-31 23:59"],
  ["2021-02-02T00:00:00.000Z", "2021-02-02 00:00"],
  ["0999-02-02T00:00:15.250Z", "0999-02-02 00:00:15.250"],
  ["2021-02-02", undefined],
  ["2021-13-02T00:00:00.000Z", undefined],
  [8.64e15 + 1, undefined],
  ["", undefined],
  ["2021", "1970-01-01 00:00:02.021"],
  [null, undefined],
])("the timestamp %s is %s", (value, time) => {
  expect(formatTimestamp(value)).toBe(time);
});
