import type { Api } from "../../app/api";
import { Failure, payloadOf } from "../../app/failure";
import {
  AlbumNamed,
  ArtistNamed,
  GenreNamed,
  MergeAlbum,
  RenameAlbum,
  RenameArtist,
  RenameGenre,
} from "../../graphql/generated/audio";

/** An artist, an album or a genre of the library. */
export interface Thing {
  noun: "artist" | "album" | "genre";
  /** The id; of a genre, which has none, the name. */
  id: string;
  name: string;
  /** The artist of an album; empty for others. */
  artistName: string;
  /** The number of its tracks. */
  count: number;
}

export interface NewName {
  name: string;
  artistName: string;
}

/** The thing that has a name already; if it is the same one, only the spelling of its name changes. */
export type Holder = Pick<Thing, "id" | "name" | "count">;

/** The thing that has a name; null if nothing has it. */
export async function findHolder(
  api: Api,
  noun: Thing["noun"],
  { name, artistName }: NewName,
): Promise<Holder | null> {
  try {
    switch (noun) {
      case "artist":
        return (await api.run(ArtistNamed, { name })).artistByName ?? null;
      case "album":
        return (await api.run(AlbumNamed, { name, artistName })).albumByName ?? null;
      case "genre": {
        const { genreByName: found } = await api.run(GenreNamed, { name });
        return found ? { id: found.name, ...found } : null;
      }
    }
  } catch (failure) {
    if (failure instanceof Failure && failure.code === "NOT_FOUND") return null;
    throw failure;
  }
}

/** The other thing that has the new name, with which a thing becomes one; null without any. */
export function otherHolder(thing: Thing, holder: Holder | null): Holder | null {
  return holder?.id === thing.id ? null : holder;
}

/** Begin to give a thing another name, or to merge it with the one that has the name; returns the job's id. */
export async function beginRenaming(
  api: Api,
  thing: Thing,
  { name, artistName }: NewName,
  holder: Holder | null,
): Promise<string> {
  const { id } = thing;
  switch (thing.noun) {
    case "artist":
      return payloadOf((await api.run(RenameArtist, { input: { id, name } })).renameArtist).job.id;
    case "genre": {
      const input = { name: thing.name, newName: name };
      return payloadOf((await api.run(RenameGenre, { input })).renameGenre).job.id;
    }
    case "album": {
      const other = otherHolder(thing, holder);
      if (other) {
        const input = { id, into: other.id };
        return payloadOf((await api.run(MergeAlbum, { input })).mergeAlbum).job.id;
      }
      // An artist that stays is not written into the tracks, which may have none of their own.
      const by = artistName === thing.artistName ? null : artistName;
      const input = { id, name, artistName: by };
      return payloadOf((await api.run(RenameAlbum, { input })).renameAlbum).job.id;
    }
  }
}
