import { useState, type SubmitEvent } from "react";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction } from "../../app/queries";
import { UpdateGroup } from "../../graphql/generated/groups";
import type { GroupDetailsQuery } from "../../graphql/generated/types";
import { ActionButton } from "../../parts/ActionButton";
import { Field } from "../../parts/fields";
import { readForm } from "../../parts/forms";
import { ModalDialog } from "../../parts/ModalDialog";
import { Problem } from "../../parts/state";
import { TagFields } from "../../parts/TagFields";

export type ShownGroup = NonNullable<GroupDetailsQuery["group"]>;

/** The change of a group's name, purpose, tags and state. */
export function GroupChange({ group, onClose }: { group: ShownGroup; onClose: () => void }) {
  const update = useAction(
    UpdateGroup,
    (data) => payloadOf(data.updateGroup),
    () => {
      onClose();
      announce(`The group ${group.path} is changed.`);
    },
  );
  const [tags, setTags] = useState(() => group.tags.map(({ key, value }) => ({ key, value })));
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    const { name = "", description = "", enabled } = readForm(event);
    const state = enabled ? "ENABLED" : "DISABLED";
    const input = {
      path: group.path,
      name,
      description: description || null,
      tags,
      state,
    } as const;
    update.mutate({ input });
  };
  return (
    <ModalDialog title={`Change ${group.path}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Display name">
          <input name="name" defaultValue={group.name} required maxLength={64} />
        </Field>
        <Field label="Purpose">
          <textarea
            name="description"
            rows={2}
            defaultValue={group.description ?? ""}
            maxLength={1000}
          />
        </Field>
        <TagFields tags={tags} onChange={(next) => setTags([...next])} />
        <label className="check">
          <input type="checkbox" name="enabled" defaultChecked={group.state === "ENABLED"} />
          <span>Enabled: without it nothing is made or started here or below</span>
        </label>
        {update.error ? <Problem error={update.error} /> : null}
        <ActionButton isBusy={update.isPending}>Save</ActionButton>
      </form>
    </ModalDialog>
  );
}
