import { useState, type SubmitEvent } from "react";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction } from "../../app/queries";
import { DeleteSamples } from "../../graphql/generated/sensors";
import { Field } from "../../parts/fields";
import { ModalDialog } from "../../parts/ModalDialog";
import { Problem } from "../../parts/state";
import { TimeField } from "../../parts/TimeRange";
import type { SeriesPlace } from "./SampleChart";

interface SampleDeletionProps {
  place: SeriesPlace;
  onClose: () => void;
}

/** The deletion of an entity's samples, all or those of a span: it asks for the id of the entity. */
export function SampleDeletion({ place, onClose }: SampleDeletionProps) {
  const remove = useAction(DeleteSamples, (data) => payloadOf(data.deleteNgsiSamples));
  const [from, setFrom] = useState<string | null>(null);
  const [to, setTo] = useState<string | null>(null);
  const [typed, setTyped] = useState("");
  const { service, path: servicePath, entity: entityId, type: entityType } = place;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const input = { service, servicePath, entityId, entityType, from, to };
    const onSuccess = () => {
      onClose();
      announce(`The samples of ${entityId} are being deleted; the job shows how far it is.`);
    };
    remove.mutate({ input }, { onSuccess });
  };
  return (
    <ModalDialog title={`Delete samples of ${entityId}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>
          The samples of all its attributes go, and cannot be brought back. Samples that arrive from
          now on stay.
        </p>
        <div className="row">
          <TimeField label="From; the first one if empty" value={from} onChange={setFrom} />
          <TimeField label="Before; the last one if empty" value={to} onChange={setTo} />
        </div>
        <Field label={`Type ${entityId} to delete them`}>
          <input
            value={typed}
            autoComplete="off"
            onChange={(event) => setTyped(event.target.value)}
          />
        </Field>
        {remove.error ? <Problem error={remove.error} /> : null}
        <button
          type="submit"
          className="button danger"
          disabled={typed !== entityId || remove.isPending}
        >
          Delete the samples
        </button>
      </form>
    </ModalDialog>
  );
}
