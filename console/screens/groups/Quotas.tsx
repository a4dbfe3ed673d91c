import { formatBytes, formatName } from "../../parts/format";
import { Digits } from "../../parts/marks";

export interface Quota {
  kind: string;
  maximum?: string | number | null;
  used: string | number;
}

export function Quotas({ quotas }: { quotas: readonly Quota[] }) {
  if (quotas.length === 0) return null;
  return (
    <dl className="figures" aria-label="What the group and those below it keep">
      {quotas.map(({ kind, used, maximum }) => (
        <div key={kind}>
          <dt>{formatName(kind)}</dt>
          <dd>
            <Amount kind={kind} amount={used} />
            {maximum == null ? null : (
              <span className="muted">
                {" "}
                of <Amount kind={kind} amount={maximum} />
              </span>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Amount({ kind, amount }: { kind: string; amount: string | number }) {
  return kind === "BYTES" ? formatBytes(amount) : <Digits value={amount} />;
}
