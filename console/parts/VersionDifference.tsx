import type { Operation } from "../graphql/operation";
import { useAnswer } from "../app/queries";
import { useAddress } from "./address";
import { type Change, Differences } from "./Differences";
import { ChoiceField } from "./fields";
import { Answered } from "./state";

interface VersionDifferenceProps<Data> {
  id: string;
  /** The number of the newest version. */
  newest: number;
  operation: Operation<Data, { id: string; from: number; to: number }>;
  changesOf: (data: Data) => readonly Change[] | null | undefined;
}

/** Two versions side by side, which the address names; at first the last two. */
export function VersionDifference<Data>(props: VersionDifferenceProps<Data>) {
  const { id, newest, operation, changesOf } = props;
  const { search, change } = useAddress();
  const to = Number(search.get("to") ?? newest);
  const from = Number(search.get("from") ?? Math.max(1, to - 1));
  const diff = useAnswer(operation, { id, from, to }, { enabled: from !== to, keep: true });
  if (newest === 1) {
    return <p className="muted">There is one version so far, so there is nothing to compare.</p>;
  }
  const numbers = Array.from({ length: newest }, (_, index) => String(newest - index));
  const ends = [
    ["From version", "from", from],
    ["To version", "to", to],
  ] as const;
  return (
    <section className="stack tight" aria-label="Difference">
      <h2>Difference of two versions</h2>
      <div className="row">
        {ends.map(([label, name, value]) => (
          <ChoiceField
            key={name}
            label={label}
            value={String(value)}
            choices={numbers.map((number) => [number, number])}
            onChange={(number) => change({ [name]: number })}
          />
        ))}
      </div>
      {from === to ? (
        <p className="muted">Choose two different versions.</p>
      ) : (
        <Answered query={diff} what="the difference">
          {(data) => <Differences changes={changesOf(data) ?? []} />}
        </Answered>
      )}
    </section>
  );
}
