import { useQuery } from "@tanstack/react-query";
import { fileOf, readFileStart } from "../../parts/fileStart";

export const MOST_REJECTED = 100;

/** The first records of a file of rejected rows: its row of the input, column, code and message. */
export function useRejectedRows(url: string | null) {
  return useQuery({
    queryKey: ["rejected rows", url === null ? null : fileOf(url)],
    queryFn: async () => (await readFileStart(url ?? "", MOST_REJECTED + 1)).slice(1),
    enabled: url !== null,
  });
}
