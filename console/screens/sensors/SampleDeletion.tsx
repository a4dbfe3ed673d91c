import { useState } from "react";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction } from "../../app/queries";
import { DeleteSamples } from "../../graphql/generated/sensors";
import { DeletionDialog } from "../../parts/DeletionDialog";
import { TimeField } from "../../parts/TimeRange";
import type { SeriesPlace } from "./SampleChart";

interface SampleDeletionProps {
  place: SeriesPlace;
  onClose: () => void;
}

/** The deletion of an entity's samples, all or those of a span: it asks for the id of the entity. */
export function SampleDeletion({ place, onClose }: SampleDeletionProps) {
  const { service, path: servicePath, entity: entityId, type: entityType } = place;
  const remove = useAction(
    DeleteSamples,
    (data) => payloadOf(data.deleteNgsiSamples),
    () => {
      onClose();
      announce(`The samples of ${entityId} are being deleted; the job shows how far it is.`);
    },
  );
  const [from, setFrom] = useState<string | null>(null);
  const [to, setTo] = useState<string | null>(null);
  return (
    <DeletionDialog
      title={`Delete samples of ${entityId}`}
      name={entityId}
      label={`Type ${entityId} to delete them`}
      action="Delete the samples"
      deletion={remove}
      onDelete={() =>
        remove.mutate({ input: { service, servicePath, entityId, entityType, from, to } })
      }
      onClose={onClose}
    >
      <p>
        The samples of all its attributes go, and cannot be brought back. Samples that arrive from
        now on stay.
      </p>
      <div className="row">
        <TimeField label="From; the first one if empty" value={from} onChange={setFrom} />
        <TimeField label="Before; the last one if empty" value={to} onChange={setTo} />
      </div>
    </DeletionDialog>
  );
}
