// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type { ViewerQuery, ViewerQueryVariables } from "./types";

export const Viewer: Operation<ViewerQuery, ViewerQueryVariables> = {
  id: "991dd0d46eaa1da6cbbb44f33c2929ce2328d57cdfc64991f8209cf8180a00ea",
  name: "Viewer",
};
