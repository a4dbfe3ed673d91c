// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  AudioChoicesQuery,
  AudioChoicesQueryVariables,
  TracksQuery,
  TracksQueryVariables,
  AlbumDetailsQuery,
  AlbumDetailsQueryVariables,
  ArtistNamedQuery,
  ArtistNamedQueryVariables,
  AlbumNamedQuery,
  AlbumNamedQueryVariables,
  GenreNamedQuery,
  GenreNamedQueryVariables,
  RenameArtistMutation,
  RenameArtistMutationVariables,
  RenameAlbumMutation,
  RenameAlbumMutationVariables,
  MergeAlbumMutation,
  MergeAlbumMutationVariables,
  RenameGenreMutation,
  RenameGenreMutationVariables,
  EvaluateRuleQuery,
  EvaluateRuleQueryVariables,
  SetPlaylistRuleMutation,
  SetPlaylistRuleMutationVariables,
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
  id: "0bb1bb27317cf26fa2846977df7ed2529d5c4b82b5fa8c93d0f3d34e22962e08",
  name: "AlbumDetails",
};
export const ArtistNamed: Operation<ArtistNamedQuery, ArtistNamedQueryVariables> = {
  id: "ea7a5d78b8fda66ecbbd2a130be6c85f7db18b240f3bb414da409199cedde86b",
  name: "ArtistNamed",
};
export const AlbumNamed: Operation<AlbumNamedQuery, AlbumNamedQueryVariables> = {
  id: "9c3cf523493bdcd60ac93b34c270c00ffe44c6640afeba75c503c95149f6c531",
  name: "AlbumNamed",
};
export const GenreNamed: Operation<GenreNamedQuery, GenreNamedQueryVariables> = {
  id: "eb06ccdb996c2d65e2fab0608f1f860706f3fbb49c1dcca8d6f4bbe1c2d3fc1f",
  name: "GenreNamed",
};
export const RenameArtist: Operation<RenameArtistMutation, RenameArtistMutationVariables> = {
  id: "c3f8f4a6634a215f764e4c1a6f01d032e6c89110d29d507de663db83efb73b11",
  name: "RenameArtist",
};
export const RenameAlbum: Operation<RenameAlbumMutation, RenameAlbumMutationVariables> = {
  id: "227fa51540f38b85bc78b143bb2eda2fa1f1dacd9043b106e858fb7f125b2900",
  name: "RenameAlbum",
};
export const MergeAlbum: Operation<MergeAlbumMutation, MergeAlbumMutationVariables> = {
  id: "e1d310f51a3c2e4b0dbb83313cf0cb2c5f430c2c7b8fd281426b7b1dac12a39d",
  name: "MergeAlbum",
};
export const RenameGenre: Operation<RenameGenreMutation, RenameGenreMutationVariables> = {
  id: "dc744f9b7dc8d49899272d474d6a3cdc6c5814e3e58c9a9f7649ae30b272072a",
  name: "RenameGenre",
};
export const EvaluateRule: Operation<EvaluateRuleQuery, EvaluateRuleQueryVariables> = {
  id: "e699bbb26b68288c22ce2af90bf97ab4c1f2a1b5cf44bb0fe712ca61d5b21981",
  name: "EvaluateRule",
};
export const SetPlaylistRule: Operation<SetPlaylistRuleMutation, SetPlaylistRuleMutationVariables> =
  {
    id: "6b99ac091f56ba7f12bcab41716c8842d9a276ce495b4c50c217402f84bff2ab",
    name: "SetPlaylistRule",
  };
export const PlaylistTracks: Operation<PlaylistTracksQuery, PlaylistTracksQueryVariables> = {
  id: "2d48ecf6019889ce47ee25be508e7d88c9235100d001c281429bc8b16e2f187a",
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
