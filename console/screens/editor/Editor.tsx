import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { useState, type SubmitEvent } from "react";
import { Link } from "wouter";
import { announce } from "../../app/announcement";
import { type Failure, failureOf } from "../../app/failure";
import { readAgain, useAnswer, useServices } from "../../app/queries";
import { Viewer } from "../../graphql/generated/shell";
import { ActionButton } from "../../parts/ActionButton";
import { pathOf, useAddress, useNavigate } from "../../parts/address";
import { DeletionDialog } from "../../parts/DeletionDialog";
import { Denied, OfRole, useRoles } from "../../parts/denial";
import { hasRole, mayCreate } from "../../parts/roles";
import { Answered, Missing, Problem } from "../../parts/state";
import { UploadProgress } from "../../parts/UploadProgress";
import { useTitle } from "../../parts/title";
import { Conflict } from "./Conflict";
import { type Draft, type Edit, type EditedKind, keepEdit, newDraft, readKeptEdit } from "./draft";
import { DraftFields } from "./DraftFields";
import { DryRun } from "./DryRun";
import { DatasetFields } from "./DatasetFields";
import { columnsOf } from "./datasetFile";
import { canSave, useDatasetUpload } from "./datasetUpload";
import { deleteEdited, readDraft, saveDraft } from "./saving";
import { describeSaved, pathOfDataset, saveDataset } from "./savingDataset";

/** The lists of the kinds, where one goes that is no more. */
const LISTS: Readonly<Record<EditedKind, string>> = {
  pipeline: "/",
  calculation: "/calculations",
  metric: "/metrics",
  dataset: "/datasets",
};

const LIST_NAMES: Readonly<Record<EditedKind, string>> = {
  pipeline: "Pipelines",
  calculation: "Calculations",
  metric: "Metrics",
  dataset: "Datasets",
};

interface EditorProps {
  kind: EditedKind;
  /** Null for a new one. */
  id: string | null;
}

/** The editor of a pipeline, a calculation, a metric or a dataset. */
export default function Editor({ kind, id }: EditorProps) {
  useTitle(id === null ? `New ${kind}` : `Edit ${kind}`);
  return id === null ? <NewEditor kind={kind} /> : <PresentEditor kind={kind} id={id} />;
}

function NewEditor({ kind }: { kind: EditedKind }) {
  const { search } = useAddress();
  const viewer = useAnswer(Viewer, {});
  return (
    <Answered query={viewer} what="your group">
      {({ viewer: { defaultGroup, roles } }) =>
        mayCreate(roles) ? (
          <DraftEditor
            kind={kind}
            id={null}
            read={newDraft(search.get("group") ?? defaultGroup ?? "/")}
          />
        ) : (
          <Denied title={`You may not make a ${kind}`}>
            <p>It needs the role contributor in a group.</p>
          </Denied>
        )
      }
    </Answered>
  );
}

function PresentEditor({ kind, id }: { kind: EditedKind; id: string }) {
  const { api } = useServices();
  const roles = useRoles();
  // It is read once: what others save meanwhile is seen when this is saved.
  const query = useQuery({
    queryKey: ["edited", kind, id],
    queryFn: () => readDraft(api, kind, id),
    staleTime: Infinity,
    gcTime: 0,
    refetchOnMount: "always",
  });
  const [first, setFirst] = useState<Draft | null>(null);
  // What is still there of an earlier visit is older than what was saved since.
  if (first === null && query.data && !query.isFetching) setFirst(query.data);
  if (first && roles) {
    if (hasRole(roles, "CONTRIBUTOR", first.group)) {
      return <DraftEditor kind={kind} id={id} read={first} />;
    }
    return (
      <Denied title={`You may not change ${first.name}`}>
        <p>It needs the role contributor at {first.group}.</p>
        <Link href={pathOf(`${kind}s`, id)}>Back to the {kind}</Link>
      </Denied>
    );
  }
  return (
    <Answered
      query={{ ...query, data: query.isFetching || first ? undefined : query.data }}
      what={`the ${kind}`}
    >
      {() => <Missing what={kind} />}
    </Answered>
  );
}

function DraftEditor({ kind, id, read }: EditorProps & { read: Draft }) {
  const { api } = useServices();
  const client = useQueryClient();
  const navigate = useNavigate();
  const key = `${kind}:${id ?? "new"}`;
  const [edit, setEdit] = useState<Edit>(() => readKeptEdit(key) ?? { base: read, draft: read });
  const { draft } = edit;
  const [failure, setFailure] = useState<Failure | null>(null);
  const [theirs, setTheirs] = useState<Draft | null>(null);
  const [isSaving, setSaving] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const upload = useDatasetUpload();
  const begin = (next: Edit) => {
    setTheirs(null);
    setEdit(next);
    keepEdit(key, next);
  };
  // What is typed while a chosen file is read stays, too.
  const change = (changed: Partial<Draft>) =>
    setEdit((before) => {
      const next = { ...before, draft: { ...before.draft, ...changed } };
      keepEdit(key, next);
      return next;
    });
  const leave = (path: string) => {
    keepEdit(key, null);
    void readAgain(client);
    navigate(path);
  };
  const save = async (saved: Draft, base: Draft) => {
    setSaving(true);
    setFailure(null);
    try {
      if (kind === "dataset") {
        const made = await saveDataset(api, id, saved, base, upload.begin());
        leave(pathOfDataset(made));
        announce(describeSaved(saved.name, made));
      } else {
        leave(pathOf(`${kind}s`, await saveDraft(api, kind, id, saved, base)));
        announce(`The ${kind} ${saved.name} is saved.`);
      }
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") return;
      const found = failureOf(error);
      setFailure(found);
      if (id !== null && found.currentVersion !== null) setTheirs(await readDraft(api, kind, id));
    } finally {
      upload.end();
      setSaving(false);
    }
  };
  const chooseFile = async (file: File) => {
    const chosen = await upload.choose(file);
    if (chosen?.problems.length === 0) change(columnsOf(chosen, draft));
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void save(draft, edit.base);
  };
  return (
    <>
      <header>
        <div>
          <p className="crumbs">
            {id === null ? (
              <Link href={LISTS[kind]}>{LIST_NAMES[kind]}</Link>
            ) : (
              <Link href={pathOf(`${kind}s`, id)}>{read.name}</Link>
            )}
          </p>
          <h1>{id === null ? `New ${kind}` : `Edit ${read.name}`}</h1>
        </div>
        {id === null ? null : (
          <OfRole role="ADMIN" at={read.group}>
            <button type="button" className="button danger" onClick={() => setDeleting(true)}>
              <Trash2 size={16} aria-hidden /> Delete
            </button>
          </OfRole>
        )}
      </header>
      <form className="stack" onSubmit={submit}>
        <DraftFields
          kind={kind}
          draft={draft}
          problems={failure?.problems ?? []}
          onChange={change}
        />
        {kind === "dataset" ? (
          <DatasetFields
            draft={draft}
            chosen={upload.chosen}
            onFile={(file) => void chooseFile(file)}
            onChange={change}
          />
        ) : null}
        {theirs ? (
          <Conflict
            edit={edit}
            theirs={theirs}
            onSave={(chosen) => {
              begin({ base: theirs, draft: chosen });
              void save(chosen, theirs);
            }}
            onTheirs={() => {
              setFailure(null);
              begin({ base: theirs, draft: theirs });
            }}
          />
        ) : failure ? (
          <Problem error={failure} />
        ) : null}
        <div className="row">
          <ActionButton
            isBusy={isSaving}
            disabled={kind === "dataset" && !canSave(draft, upload.chosen)}
          >
            {isSaving ? "Saving…" : "Save"}
          </ActionButton>
          <button
            type="button"
            className="button"
            onClick={() => leave(id === null ? LISTS[kind] : pathOf(`${kind}s`, id))}
          >
            Discard
          </button>
        </div>
      </form>
      {upload.sending && upload.chosen ? (
        <UploadProgress
          sent={upload.sending.sent}
          size={upload.chosen.file.size}
          onCancel={upload.sending.cancel}
        />
      ) : null}
      {kind === "pipeline" || kind === "calculation" ? <DryRun kind={kind} draft={draft} /> : null}
      {isDeleting && id !== null ? (
        <Deletion
          name={read.name}
          kind={kind}
          onClose={() => setDeleting(false)}
          onDelete={async () => {
            await deleteEdited(api, kind, id);
            leave(LISTS[kind]);
            announce(`The ${kind} ${read.name} is deleted.`);
          }}
        />
      ) : null}
    </>
  );
}

interface DeletionProps {
  name: string;
  kind: EditedKind;
  onClose: () => void;
  onDelete: () => Promise<void>;
}

function Deletion({ name, kind, onClose, onDelete }: DeletionProps) {
  const deletion = useMutation({ mutationFn: onDelete });
  return (
    <DeletionDialog
      title={`Delete ${name}`}
      name={name}
      label="Type its name to delete it"
      action={`Delete the ${kind}`}
      deletion={deletion}
      onDelete={() => deletion.mutate()}
      onClose={onClose}
    >
      <p>The {kind} goes with all of its versions and cannot be brought back.</p>
    </DeletionDialog>
  );
}
