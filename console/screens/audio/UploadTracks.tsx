import { useQueryClient } from "@tanstack/react-query";
import { Upload } from "lucide-react";
import { useState } from "react";
import { failureOf, payloadOf } from "../../app/failure";
import { readAgain, useServices } from "../../app/queries";
import { AddAudio, CreateAudioUpload } from "../../graphql/generated/audio";
import { Problem } from "../../parts/state";
import { sendFile } from "../../parts/upload";

interface Sending {
  name: string;
  sent: number;
  size: number;
}

/** Sends audio files and adds them to the library, one after another. */
export function UploadTracks() {
  const { api } = useServices();
  const client = useQueryClient();
  const [sending, setSending] = useState<Sending | null>(null);
  const [error, setError] = useState<unknown>(null);
  const sendOne = async (file: File) => {
    const { name, size } = file;
    setSending({ name, sent: 0, size });
    const input = { fileName: name, contentType: file.type || null };
    const made = payloadOf((await api.run(CreateAudioUpload, { input })).createAudioUpload);
    const stop = new AbortController();
    await sendFile(made.form, file, stop.signal, (sent) => setSending({ name, sent, size }));
    const added = await api.run(AddAudio, { input: { objectKey: made.objectKey } });
    payloadOf(added.addAudio);
  };
  const send = async (files: readonly File[]) => {
    setError(null);
    try {
      for (const file of files) await sendOne(file);
    } catch (failure) {
      setError(failureOf(failure));
    } finally {
      setSending(null);
      void readAgain(client);
    }
  };
  return (
    <div className="stack tight">
      <label className="button">
        <Upload size={16} aria-hidden /> Upload tracks
        <input
          className="visually-hidden"
          type="file"
          multiple
          accept="audio/*"
          onChange={(event) => void send([...(event.target.files ?? [])])}
        />
      </label>
      {sending ? (
        <p role="status" className="small">
          Sending {sending.name}
          <progress aria-label="Upload" max={sending.size} value={sending.sent} />
        </p>
      ) : null}
      {error ? <Problem error={error} /> : null}
    </div>
  );
}
