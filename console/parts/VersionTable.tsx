import { History } from "lucide-react";
import type { ReactNode } from "react";
import { announce } from "../app/announcement";
import { payloadOf } from "../app/failure";
import { useAction } from "../app/queries";
import { RestoreVersion } from "../graphql/generated/parts";
import { ActionButton } from "./ActionButton";
import { useRoles } from "./denial";
import { Time } from "./marks";
import { hasRole } from "./roles";
import { Problem } from "./state";
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
  /** The group that owns it. */
  owner: string;
  /** The number of its newest version. */
  newest: number;
  versions: readonly Version[];
  /** What is shown of a version besides, by the words for it. */
  about?: Readonly<Record<string, (version: Version) => ReactNode>>;
}

/** The versions of a resource: who saved them, from when they are active, their labels, and a way back. */
export function VersionTable<Version extends SavedVersion>({
  id,
  owner,
  newest,
  versions,
  about = {},
}: VersionTableProps<Version>) {
  const mayChange = hasRole(useRoles() ?? [], "CONTRIBUTOR", owner);
  const restore = useAction(RestoreVersion, (data) => payloadOf(data.restoreVersion));
  const more = Object.entries(about);
  const bringBack = (version: number) => {
    const words = `Version ${newest + 1} has what version ${version} had.`;
    const input = { id, version, expectedVersion: newest };
    restore.mutate({ input }, { onSuccess: () => announce(words) });
  };
  return (
    <>
      {restore.error ? <Problem error={restore.error} /> : null}
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
              {mayChange && versions.length > 1 ? (
                <th scope="col">
                  <span className="visually-hidden">Restore</span>
                </th>
              ) : null}
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
                  <VersionLabels
                    id={id}
                    version={one.version}
                    labels={one.labels}
                    mayChange={mayChange}
                  />
                </td>
                <td>
                  <Time at={one.updatedAt} /> <span className="muted">by {one.updatedBy}</span>
                </td>
                <td>
                  <Time at={one.activeFrom} />
                </td>
                {mayChange && versions.length > 1 ? (
                  <td>
                    {one.version === newest ? null : (
                      <ActionButton
                        tone="quiet"
                        label={`Restore version ${one.version}`}
                        isBusy={restore.isPending}
                        onClick={() => bringBack(one.version)}
                      >
                        <History size={16} aria-hidden /> Restore
                      </ActionButton>
                    )}
                  </td>
                ) : null}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
