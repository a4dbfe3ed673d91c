import { useSyncExternalStore } from "react";

export interface QueuedTrack {
  readonly id: string;
  readonly title: string;
  readonly artist: string;
  readonly cover: string | null;
}

/** A track in the queue; the same one may stand in it twice. */
export interface QueueEntry extends QueuedTrack {
  readonly key: number;
}

export interface PlayQueue {
  readonly tracks: readonly QueueEntry[];
  readonly index: number;
}

/** What is played and what comes next, over all screens. */
let queue: PlayQueue = { tracks: [], index: 0 };
let lastKey = 0;
const listeners = new Set<() => void>();
const entryOf = (track: QueuedTrack): QueueEntry => ({ ...track, key: ++lastKey });

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
  change({ tracks: tracks.map(entryOf), index });
}

/** Add a track to the end of what is played. */
export function enqueueTrack(track: QueuedTrack): void {
  change({ ...queue, tracks: [...queue.tracks, entryOf(track)] });
}

/** Go to the next track (1) or the one before (-1), as far as there are any. */
export function stepQueue(by: 1 | -1): void {
  jumpTo(queue.index + by);
}

/** Play the track at a place of the queue, if there is one. */
export function jumpTo(index: number): void {
  if (index >= 0 && index < queue.tracks.length) change({ ...queue, index });
}

/** Take the track at a place out of the queue; what is played goes on. */
export function dropFromQueue(place: number): void {
  const tracks = queue.tracks.filter((_, index) => index !== place);
  const index = place < queue.index ? queue.index - 1 : queue.index;
  change({ tracks, index: Math.min(index, Math.max(tracks.length - 1, 0)) });
}

function change(next: PlayQueue): void {
  queue = next;
  listeners.forEach((listener) => listener());
}
