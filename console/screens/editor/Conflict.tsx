import { Differences } from "../../parts/Differences";
import { compareDrafts, mergeDrafts } from "./comparison";
import type { Draft, Edit } from "./draft";

interface ConflictProps {
  edit: Edit;
  theirs: Draft;
  onSave: (draft: Draft) => void;
  onTheirs: () => void;
}

/** What somebody else saved meanwhile beside what is typed here; nothing is lost. */
export function Conflict({ edit: { base, draft }, theirs, onSave, onTheirs }: ConflictProps) {
  const both = mergeDrafts(base, theirs, draft);
  return (
    <section role="alert" className="note note-warn" aria-label="Conflict">
      <h2>Somebody saved version {theirs.version} meanwhile</h2>
      <p>
        Nothing of yours is lost, and theirs stays in the versions.{" "}
        {both ? "You changed different things, so both can be saved together." : null}
      </p>
      <Differences changes={compareDrafts(theirs, draft)} names={["Theirs", "Yours"]} />
      <div className="row">
        {both ? (
          <button type="button" className="button primary" onClick={() => onSave(both)}>
            Save both together
          </button>
        ) : null}
        <button
          type="button"
          className={both ? "button" : "button primary"}
          onClick={() => onSave({ ...draft, version: theirs.version })}
        >
          Save mine as a new version
        </button>
        <button type="button" className="button" onClick={onTheirs}>
          Go on with theirs
        </button>
      </div>
    </section>
  );
}
