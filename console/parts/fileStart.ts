import { readCsv } from "./csv";

const MOST_BYTES = 128 * 1024;

/** Read the first records of a CSV file of the API by a range, the header first. */
export async function readFileStart(url: string, most: number): Promise<string[][]> {
  const answer = await fetch(url, { headers: { range: `bytes=0-${MOST_BYTES - 1}` } });
  if (!answer.ok) throw new Error(`The file answers with status ${answer.status}.`);
  const isWhole = answer.status === 200;
  const text = await answer.text();
  // A range may end within a line.
  const whole = isWhole || text.length < MOST_BYTES ? text : text.slice(0, text.lastIndexOf("\n"));
  return readCsv(whole, most);
}

/** The path of a URL that is signed anew each time: it names the file. */
export function fileOf(url: string): string {
  return new URL(url, location.href).pathname;
}
