import type { RunnablePipelineQuery } from "../../graphql/generated/types";
import { timePatterns } from "../../parts/formulas";

type Transformer = NonNullable<RunnablePipelineQuery["pipeline"]>["transformer"];
type Parameter = Transformer["parameters"][number];

/** The columns that a file has, each with the form of its values. */
export function Columns({ transformer }: { transformer: Transformer }) {
  const patterns = timePatterns(transformer.transforms.map(({ formula }) => formula));
  return (
    <section className="stack tight" aria-label="Columns">
      <p className="muted">The first line of the file names these columns, in any order:</p>
      <div className="card flush" tabIndex={0} role="group" aria-label="List of columns">
        <table>
          <thead>
            <tr>
              <th scope="col">Column</th>
              <th scope="col">Its values</th>
            </tr>
          </thead>
          <tbody>
            {transformer.parameters.map((parameter) => (
              <tr key={parameter.key}>
                <td>
                  <code>{parameter.label ?? parameter.key}</code>
                </td>
                <td>
                  {describeValues(parameter, patterns.get(parameter.key) ?? [])}
                  {parameter.required ? "" : ", or empty"}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** The form of the values of a column, in words; times are written as the formulas read them. */
export function describeValues({ type }: Pick<Parameter, "type">, patterns: readonly string[]) {
  if (patterns.length > 0) return `times as ${patterns.join(" or ")}`;
  switch (type) {
    case "NUMBER":
      return "numbers, such as 1234.5";
    case "BOOLEAN":
      return "true or false";
    case "TIMESTAMP":
      return "times, in the form that the formulas of the pipeline read";
    case "STRING":
      return "text";
  }
}
