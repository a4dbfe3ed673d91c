import { useSyncExternalStore } from "react";

/** What the console did for the user, on the screen that shows it. */
interface Announcement {
  readonly words: string;
  readonly path: string;
}

let latest: Announcement | null = null;
const listeners = new Set<() => void>();

/** Say that something is done: once the screen that shows it is there. */
export function announce(words: string): void {
  change({ words, path: location.pathname });
}

export function dismissAnnouncement(): void {
  change(null);
}

export function useAnnouncement(): Announcement | null {
  return useSyncExternalStore(subscribe, () => latest);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(next: Announcement | null): void {
  latest = next;
  listeners.forEach((listener) => listener());
}
