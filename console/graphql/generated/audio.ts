// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  AudioChoicesQuery,
  AudioChoicesQueryVariables,
  TracksQuery,
  TracksQueryVariables,
  PlaylistTracksQuery,
  PlaylistTracksQueryVariables,
  CreatePlaylistMutation,
  CreatePlaylistMutationVariables,
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
} from "./types";

export const AudioChoices: Operation<AudioChoicesQuery, AudioChoicesQueryVariables> = {
  id: "450937d3de85f4273fe6ea76d9c233d91fbf08087c3975d68d0d11a51eb734fd",
  name: "AudioChoices",
};
export const Tracks: Operation<TracksQuery, TracksQueryVariables> = {
  id: "7b57b695961c0d16f1eead06e358a862994cca78199cd8ef1c3b6d315a16f90b",
  name: "Tracks",
};
export const PlaylistTracks: Operation<PlaylistTracksQuery, PlaylistTracksQueryVariables> = {
  id: "656f4a8d1abbbf727c0c661698e15bec7e23639f3aa7fb5d235ef4a6630a6303",
  name: "PlaylistTracks",
};
export const CreatePlaylist: Operation<CreatePlaylistMutation, CreatePlaylistMutationVariables> = {
  id: "247a8bc8c0458eec452cb1d3a67333946f6c98ee8ee03a7be56206b3b28f615b",
  name: "CreatePlaylist",
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
