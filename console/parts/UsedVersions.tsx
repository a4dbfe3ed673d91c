interface UsedVersion {
  kind: string;
  id: string;
  version: number;
  name: string;
}

interface UsedVersionsProps {
  pins: readonly UsedVersion[];
  heading?: "h2" | "h3";
}

/** The calculations and datasets that the formulas of an execution used. */
export function UsedVersions({ pins, heading: Heading = "h2" }: UsedVersionsProps) {
  if (pins.length === 0) return null;
  return (
    <section className="stack tight" aria-label="What it used">
      <Heading>What it used</Heading>
      <ul className="pills">
        {pins.map(({ kind, id, version, name }) => (
          <li key={id} className="pill">
            <b>{kind === "C" ? "calculation" : "dataset"}</b> {name}, version {version}
          </li>
        ))}
      </ul>
    </section>
  );
}
