// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type { SystemStateQuery, SystemStateQueryVariables } from "./types";

export const SystemState: Operation<SystemStateQuery, SystemStateQueryVariables> = {
  id: "659e0166fea290f3eb519b69b64ff51d30beb2bdca6246ee7d7dfdfed723f564",
  name: "SystemState",
};
