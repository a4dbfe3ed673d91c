// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type { SystemStateQuery, SystemStateQueryVariables } from "./types";

export const SystemState: Operation<SystemStateQuery, SystemStateQueryVariables> = {
  id: "cbe36299348597af4829fc3df09f8f90a6d31855215009e33a692eaa205eaff7",
  name: "SystemState",
};
