// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type { TrackUrlQuery, TrackUrlQueryVariables } from "./types";

export const TrackUrl: Operation<TrackUrlQuery, TrackUrlQueryVariables> = {
  id: "dc8ec67e711fdf86a0306299f7553c1f524c1329510336c0fd260926d7ba9abf",
  name: "TrackUrl",
};
