import { CONNECTION_LOST, Failure } from "../app/failure";

export interface UploadForm {
  method: string;
  url: string;
  fields: readonly { name: string; value: string }[];
  headers: readonly { name: string; value: string }[];
}

/**
 * Send a file with its form; `onProgress` gets the bytes that are sent. Rejects with a Failure, or
 * with an AbortError if the signal is given, which may be before it begins.
 */
export function sendFile(
  form: UploadForm,
  file: File,
  signal: AbortSignal,
  onProgress: (sent: number) => void,
): Promise<void> {
  const body = new FormData();
  form.fields.forEach(({ name, value }) => body.append(name, value));
  body.append("file", file);
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    // Only this old interface tells how much of a body is sent.
    const request = new XMLHttpRequest();
    request.upload.onprogress = ({ loaded }) => onProgress(Math.min(loaded, file.size));
    request.onload = () => {
      if (request.status < 300) resolve();
      else {
        const message = `The file was refused with status ${request.status}: ${request.responseText.slice(0, 300)}`;
        reject(new Failure(message, `HTTP_${request.status}`));
      }
    };
    request.onerror = () =>
      reject(new Failure("The connection broke while the file was sent.", CONNECTION_LOST));
    request.onabort = () => reject(new DOMException("cancelled", "AbortError"));
    signal.addEventListener("abort", () => request.abort());
    request.open(form.method, form.url);
    form.headers.forEach(({ name, value }) => request.setRequestHeader(name, value));
    request.send(body);
  });
}
