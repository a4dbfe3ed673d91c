/** The parameters of the address that choose what is shown of the library, none of them set. */
export const NOTHING_CHOSEN: Readonly<Record<string, null>> = {
  artist: null,
  album: null,
  genre: null,
  playlist: null,
  rule: null,
  job: null,
};
