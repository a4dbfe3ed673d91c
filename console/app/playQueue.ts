import { useSyncExternalStore } from "react";

export interface QueuedTrack {
  readonly id: string;
  readonly title: string;
  readonly artist: string;
  readonly cover: string | null;
}

export interface PlayQueue {
  readonly tracks: readonly QueuedTrack[];
  readonly index: number;
}

/** What is played and what comes next, over all screens. */
let queue: PlayQueue = { tracks: [], index: 0 };
const listeners = new Set<() => void>();

export function usePlayQueue(): PlayQueue {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => queue,
  );
}

/** Play tracks from one of them on. */
export function playTracks(tracks: readonly QueuedTrack[], index = 0): void {
  change({ tracks, index });
}

/** Add a track to the end of what is played. */
export function enqueueTrack(track: QueuedTrack): void {
  change({ ...queue, tracks: [...queue.tracks, track] });
}

/** Go to the next track (1) or the one before (-1), as far as there are any. */
export function stepQueue(by: 1 | -1): void {
  const index = queue.index + by;
  if (index >= 0 && index < queue.tracks.length) change({ ...queue, index });
}

function change(next: PlayQueue): void {
  queue = next;
  listeners.forEach((listener) => listener());
}
