import { useSyncExternalStore } from "react";

/** Whether the last request reached the server; while none does, the server is asked once a second. */
let isLost = false;
let timer: number | undefined;
const listeners = new Set<() => void>();
const returnListeners = new Set<() => void>();
const PAUSE = 1000;

export function reportLost(): void {
  change(true);
  timer ??= window.setInterval(() => void probe(), PAUSE);
}

export function reportReached(): void {
  change(false);
}

/** Call when the server can be reached again; returns what ends that. */
export function onReturn(listener: () => void): () => void {
  returnListeners.add(listener);
  return () => returnListeners.delete(listener);
}

export function useIsLost(): boolean {
  return useSyncExternalStore(subscribe, () => isLost);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

async function probe(): Promise<void> {
  try {
    // The page itself lies beside the API, so it is there when the server is.
    const answer = await fetch(document.baseURI, { method: "HEAD", cache: "no-store" });
    if (answer.status < 500) reportReached();
  } catch {
    // It is asked again.
  }
}

function change(lost: boolean): void {
  if (lost === isLost) return;
  isLost = lost;
  if (!lost) {
    window.clearInterval(timer);
    timer = undefined;
    returnListeners.forEach((listener) => listener());
  }
  listeners.forEach((listener) => listener());
}
