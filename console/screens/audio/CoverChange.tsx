import { useQueryClient } from "@tanstack/react-query";
import { ImageOff, ImageUp } from "lucide-react";
import { useState } from "react";
import { announce } from "../../app/announcement";
import type { Api } from "../../app/api";
import { failureOf, payloadOf } from "../../app/failure";
import { readAgain, useAction, useServices } from "../../app/queries";
import { CreateArtworkUpload, RemoveArtwork, SetArtwork } from "../../graphql/generated/audio";
import { ConfirmationDialog } from "../../parts/ConfirmationDialog";
import { Problem } from "../../parts/state";
import { sendFile } from "../../parts/upload";
import { UploadProgress } from "../../parts/UploadProgress";

interface CoveredProps {
  noun: "album" | "track";
  id: string;
  name: string;
}

/** The buttons that give an album or a track another cover, or take it away. */
export function CoverChange({ hasCover, ...covered }: CoveredProps & { hasCover: boolean }) {
  const { sending, error, send } = useCoverUpload(covered);
  const [isRemoving, setRemoving] = useState(false);
  return (
    <>
      <div className="row">
        <label className="button">
          <ImageUp size={16} aria-hidden /> Set the cover
          <input
            className="visually-hidden"
            type="file"
            accept="image/jpeg,image/png,image/gif,image/webp"
            // The same file, mended meanwhile, is a choice too.
            onClick={(event) => (event.currentTarget.value = "")}
            onChange={(event) => {
              const file = event.target.files?.[0];
              if (file) void send(file);
            }}
          />
        </label>
        {hasCover ? (
          <button type="button" className="button danger" onClick={() => setRemoving(true)}>
            <ImageOff size={16} aria-hidden /> Remove the cover
          </button>
        ) : null}
      </div>
      {sending ? (
        <UploadProgress
          sent={sending.sent}
          size={sending.size}
          onCancel={() => sending.stop.abort()}
        />
      ) : null}
      {error ? <Problem error={error} /> : null}
      {isRemoving ? <Removal {...covered} onClose={() => setRemoving(false)} /> : null}
    </>
  );
}

interface Sending {
  sent: number;
  size: number;
  stop: AbortController;
}

/** The upload of a cover; a later choice takes the place of one that is still sent. */
function useCoverUpload({ noun, id, name }: CoveredProps) {
  const { api } = useServices();
  const client = useQueryClient();
  const [sending, setSending] = useState<Sending | null>(null);
  const [error, setError] = useState<unknown>(null);
  const send = async (file: File) => {
    sending?.stop.abort();
    const stop = new AbortController();
    const show = (sent: number) => {
      if (!stop.signal.aborted) setSending({ sent, size: file.size, stop });
    };
    setError(null);
    show(0);
    try {
      await sendCover(api, id, file, stop.signal, show);
      announce(`The ${noun} ${name} has another cover now.`);
      void readAgain(client);
    } catch (failure) {
      if (!stop.signal.aborted) setError(failureOf(failure));
    } finally {
      setSending((shown) => (shown?.stop === stop ? null : shown));
    }
  };
  return { sending, error, send };
}

async function sendCover(
  api: Api,
  id: string,
  file: File,
  signal: AbortSignal,
  onProgress: (sent: number) => void,
): Promise<void> {
  const made = await api.run(CreateArtworkUpload, { input: { fileName: file.name } });
  const { form, objectKey } = payloadOf(made.createArtworkUpload);
  await sendFile(form, file, signal, onProgress);
  // A cancel after the last byte keeps the cover as it is, too.
  signal.throwIfAborted();
  payloadOf((await api.run(SetArtwork, { input: { id, objectKey } })).setArtwork);
}

function Removal({ noun, id, name, onClose }: CoveredProps & { onClose: () => void }) {
  const remove = useAction(
    RemoveArtwork,
    (data) => payloadOf(data.removeArtwork),
    () => {
      onClose();
      announce(`The ${noun} ${name} has no cover now.`);
    },
  );
  return (
    <ConfirmationDialog
      title={`Remove the cover of ${name}`}
      action="Remove the cover"
      removal={remove}
      onConfirm={() => remove.mutate({ input: { id } })}
      onClose={onClose}
    >
      <p>
        {noun === "album"
          ? "All tracks of the album lose their cover. Their files do not change."
          : "The file of the track does not change. Its album shows the cover of another track, if one has any."}
      </p>
    </ConfirmationDialog>
  );
}
