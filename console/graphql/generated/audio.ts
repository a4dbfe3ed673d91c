// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  AudioChoicesQuery,
  AudioChoicesQueryVariables,
  TracksQuery,
  TracksQueryVariables,
  AlbumDetailsQuery,
  AlbumDetailsQueryVariables,
  PlaylistTracksQuery,
  PlaylistTracksQueryVariables,
  CreatePlaylistMutation,
  CreatePlaylistMutationVariables,
  RenamePlaylistMutation,
  RenamePlaylistMutationVariables,
  DeletePlaylistMutation,
  DeletePlaylistMutationVariables,
  AddToPlaylistMutation,
  AddToPlaylistMutationVariables,
  MoveEntriesMutation,
  MoveEntriesMutationVariables,
  RemoveEntriesMutation,
  RemoveEntriesMutationVariables,
  CreateAudioUploadMutation,
  CreateAudioUploadMutationVariables,
  AddAudioMutation,
  AddAudioMutationVariables,
  SetFavouriteMutation,
  SetFavouriteMutationVariables,
  CreateArtworkUploadMutation,
  CreateArtworkUploadMutationVariables,
  SetArtworkMutation,
  SetArtworkMutationVariables,
  RemoveArtworkMutation,
  RemoveArtworkMutationVariables,
} from "./types";

export const AudioChoices: Operation<AudioChoicesQuery, AudioChoicesQueryVariables> = {
  id: "6af4d500fe8789f5a2c6ff6d03d189509af21115f2630f598549fb7f6799f4bd",
  name: "AudioChoices",
};
export const Tracks: Operation<TracksQuery, TracksQueryVariables> = {
  id: "9b393fdc4d0daf027770452194b392d1b0004ba165359e6eff2516658620e37c",
  name: "Tracks",
};
export const AlbumDetails: Operation<AlbumDetailsQuery, AlbumDetailsQueryVariables> = {
  id: "24439ab24562f23f701d1dda61c5225b13439330f468ab426e81f576a8e1f5bb",
  name: "AlbumDetails",
};
export const PlaylistTracks: Operation<PlaylistTracksQuery, PlaylistTracksQueryVariables> = {
  id: "b305aaf6abd9656a6e1adfb03282ae318daec9f460b28b035406f7d588e9fb04",
  name: "PlaylistTracks",
};
export const CreatePlaylist: Operation<CreatePlaylistMutation, CreatePlaylistMutationVariables> = {
  id: "247a8bc8c0458eec452cb1d3a67333946f6c98ee8ee03a7be56206b3b28f615b",
  name: "CreatePlaylist",
};
export const RenamePlaylist: Operation<RenamePlaylistMutation, RenamePlaylistMutationVariables> = {
  id: "10dc236024e56ca561999db549076b9956c646bd55cd7f73cd9723b39a21422c",
  name: "RenamePlaylist",
};
export const DeletePlaylist: Operation<DeletePlaylistMutation, DeletePlaylistMutationVariables> = {
  id: "549f967a681869f501517920de9c36ca1f24505533513827ac1114517f1c4918",
  name: "DeletePlaylist",
};
export const AddToPlaylist: Operation<AddToPlaylistMutation, AddToPlaylistMutationVariables> = {
  id: "89d3668a171217cc0c96a9ca789d5e49b8a29daa65700b20fcf17ca53a2cbae5",
  name: "AddToPlaylist",
};
export const MoveEntries: Operation<MoveEntriesMutation, MoveEntriesMutationVariables> = {
  id: "f0fb57a68b79cc172a0578273b858b483ddacccf70037822ecdf8714f49375af",
  name: "MoveEntries",
};
export const RemoveEntries: Operation<RemoveEntriesMutation, RemoveEntriesMutationVariables> = {
  id: "06c6e6d117ee3cfb7bb836f430e9f16404f2e4a22e535deaf8dfc0e280f358db",
  name: "RemoveEntries",
};
export const CreateAudioUpload: Operation<
  CreateAudioUploadMutation,
  CreateAudioUploadMutationVariables
> = {
  id: "a7519576476a085b6629b5f0c00d0a8984f8d0cab6458af7e644e314069d23e1",
  name: "CreateAudioUpload",
};
export const AddAudio: Operation<AddAudioMutation, AddAudioMutationVariables> = {
  id: "ba5e32a75bb0c954437c0e62a4cbb49732028b816f2c1b87c7555cd5a2a29726",
  name: "AddAudio",
};
export const SetFavourite: Operation<SetFavouriteMutation, SetFavouriteMutationVariables> = {
  id: "047191cb8c920ccf06ba73633993ac2abebfb6c9f22267eea839c05be5cb17c2",
  name: "SetFavourite",
};
export const CreateArtworkUpload: Operation<
  CreateArtworkUploadMutation,
  CreateArtworkUploadMutationVariables
> = {
  id: "8ed52fa43c7ec93d6c543db8e23299dcb1cfff67316effec7d62b6445f857c06",
  name: "CreateArtworkUpload",
};
export const SetArtwork: Operation<SetArtworkMutation, SetArtworkMutationVariables> = {
  id: "33be20579d6969052071219622a52bebaae79fc297f5322c3fb27a10195931b1",
  name: "SetArtwork",
};
export const RemoveArtwork: Operation<RemoveArtworkMutation, RemoveArtworkMutationVariables> = {
  id: "b48fb3805884eb83cfeb1e43e07874d5e1082d5e2b95cf684645d69152f1cb3a",
  name: "RemoveArtwork",
};
