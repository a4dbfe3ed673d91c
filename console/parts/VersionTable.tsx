import type { ReactNode } from "react";
import { Time } from "./marks";
import { VersionLabels } from "./VersionLabels";

interface SavedVersion {
  readonly version: number;
  readonly labels: readonly string[];
  readonly updatedAt: string;
  readonly updatedBy: string;
  readonly activeFrom: string;
}

interface VersionTableProps<Version extends SavedVersion> {
  /** The id of the resource. */
  id: string;
  versions: readonly Version[];
  /** What is shown of a version besides, by the words for it. */
  about?: Readonly<Record<string, (version: Version) => ReactNode>>;
}

/** The versions of a resource: who saved them, from when they are active, and their labels. */
export function VersionTable<Version extends SavedVersion>({
  id,
  versions,
  about = {},
}: VersionTableProps<Version>) {
  const more = Object.entries(about);
  return (
    <div className="card flush" tabIndex={0} role="group" aria-label="List of versions">
      <table>
        <thead>
          <tr>
            <th scope="col" className="number count">
              Version
            </th>
            {more.map(([words]) => (
              <th key={words} scope="col">
                {words}
              </th>
            ))}
            <th scope="col">Labels</th>
            <th scope="col">Saved</th>
            <th scope="col">Active from</th>
          </tr>
        </thead>
        <tbody>
          {versions.map((one) => (
            <tr key={one.version}>
              <td className="number">{one.version}</td>
              {more.map(([words, show]) => (
                <td key={words}>{show(one)}</td>
              ))}
              <td>
                <VersionLabels id={id} version={one.version} labels={one.labels} />
              </td>
              <td>
                <Time at={one.updatedAt} /> <span className="muted">by {one.updatedBy}</span>
              </td>
              <td>
                <Time at={one.activeFrom} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
