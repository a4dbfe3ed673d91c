import { FolderPlus, Pencil, Trash2 } from "lucide-react";
import { useState, type SubmitEvent } from "react";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction } from "../../app/queries";
import { CreateGroup, DeleteGroup } from "../../graphql/generated/groups";
import { ActionButton } from "../../parts/ActionButton";
import { DeletionDialog } from "../../parts/DeletionDialog";
import { Field } from "../../parts/fields";
import { formatName } from "../../parts/format";
import { ModalDialog } from "../../parts/ModalDialog";
import { Problem } from "../../parts/state";
import { GroupChange, type ShownGroup } from "./GroupChange";
import { Amount, type Quota } from "./Quotas";

interface GroupActionsProps {
  group: ShownGroup;
  role: string | null;
  /** Choose another group, and go on there. */
  onReach: (path: string) => void;
}

/** What an administrator may do: a group below, a change of this one, or an end to it. */
export function GroupActions({ group, role, onReach }: GroupActionsProps) {
  const [shown, setShown] = useState<"create" | "change" | "delete" | null>(null);
  if (role !== "ADMIN") return null;
  const { path } = group;
  const close = () => setShown(null);
  return (
    <div className="row">
      <button type="button" className="button" onClick={() => setShown("create")}>
        <FolderPlus size={16} aria-hidden /> New group below
      </button>
      {path === "/" ? null : (
        <>
          <button type="button" className="button" onClick={() => setShown("change")}>
            <Pencil size={16} aria-hidden /> Change
          </button>
          <button type="button" className="button danger" onClick={() => setShown("delete")}>
            <Trash2 size={16} aria-hidden /> Delete
          </button>
        </>
      )}
      {shown === "create" ? <Creation parent={path} onClose={close} onMade={onReach} /> : null}
      {shown === "change" ? <GroupChange group={group} onClose={close} /> : null}
      {shown === "delete" ? (
        <Deletion
          path={path}
          quotas={group.quotas ?? []}
          groups={group.children.nodes.length}
          onClose={close}
          onGone={onReach}
        />
      ) : null}
    </div>
  );
}

interface CreationProps {
  parent: string;
  onClose: () => void;
  onMade: (path: string) => void;
}

function Creation({ parent, onClose, onMade }: CreationProps) {
  const [name, setName] = useState("");
  const path = `${parent === "/" ? "" : parent}/${name.trim()}`;
  const create = useAction(
    CreateGroup,
    (data) => payloadOf(data.createGroup),
    ({ createGroup }) => {
      // The path as the server writes it: in comparison form.
      const made = "group" in createGroup ? createGroup.group.path : path;
      onClose();
      onMade(made);
      announce(`The group ${made} is made.`);
    },
  );
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create.mutate({ input: { path } });
  };
  return (
    <ModalDialog title={`A group below ${parent}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Last part of the path">
          <input value={name} required onChange={(event) => setName(event.target.value)} />
        </Field>
        <p>
          Its path is <code>{path}</code>.
        </p>
        {create.error ? <Problem error={create.error} /> : null}
        <ActionButton isBusy={create.isPending}>Create</ActionButton>
      </form>
    </ModalDialog>
  );
}

interface DeletionProps {
  path: string;
  quotas: readonly Quota[];
  groups: number;
  onClose: () => void;
  /** Go on at the group above. */
  onGone: (parent: string) => void;
}

/** The deletion of a group: it shows what goes, and asks for the path. */
function Deletion({ path, quotas, groups, onClose, onGone }: DeletionProps) {
  const remove = useAction(
    DeleteGroup,
    (data) => payloadOf(data.deleteGroup),
    () => {
      onClose();
      onGone(path.slice(0, path.lastIndexOf("/")) || "/");
      announce(`The group ${path} is being deleted; its job shows how far it is.`);
    },
  );
  const kept = quotas.filter(({ used }) => Number(used) > 0);
  return (
    <DeletionDialog
      title={`Delete ${path}`}
      name={path}
      label={`Type ${path} to delete it`}
      action="Delete the group"
      deletion={remove}
      onDelete={() => remove.mutate({ input: { path, cascade: true } })}
      onClose={onClose}
    >
      <p>This goes with the group and cannot be brought back:</p>
      <ul>
        <li>
          {groups} {groups === 1 ? "group" : "groups"} directly below, and all below these
        </li>
        {kept.map(({ kind, used }) => (
          <li key={kind}>
            <Amount kind={kind} amount={used} /> {kind === "BYTES" ? "of files" : formatName(kind)}
          </li>
        ))}
      </ul>
    </DeletionDialog>
  );
}
