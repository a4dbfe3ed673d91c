/** The values of our own scalars in the variables, so that the editor marks only wrong ones. */
export const scalars = {
  DateTime: { type: "string", description: "A time, such as 2027-06-30T00:00:00Z." },
  Decimal: { type: ["string", "number"] },
  GroupPath: { type: "string", description: "The path of a group, such as /usa/northwest." },
  JSON: { description: "Any JSON value." },
  Long: { type: "integer" },
  Row: { type: "object" },
};
