import { Link } from "wouter";
import type { ManifestRulesFragment } from "../../graphql/generated/types";
import { formatDuration } from "../../parts/format";

interface Rules {
  readonly maxAttempts: number;
  readonly firstDelaySeconds: number;
  readonly longestDelaySeconds: number;
}

/** By which rules the failed runs of a manifest are tried again. */
export function describeRetries(rules: Rules | null): string {
  if (rules === null) return "Workers may claim a failed run at once, and as often as they like.";
  const { maxAttempts, firstDelaySeconds, longestDelaySeconds } = rules;
  return (
    `A failed run is tried again after ${formatDuration(firstDelaySeconds)}, then later and later, ` +
    `after at most ${formatDuration(longestDelaySeconds)}. It is given up after ${maxAttempts} attempts.`
  );
}

interface ManifestFactsProps {
  group: string | null;
  rules: ManifestRulesFragment;
}

/** What holds for all runs of a manifest: how they are tried again, and where they come from or go. */
export function ManifestFacts({ group, rules }: ManifestFactsProps) {
  const { retries, consumes, consumers, isFilled } = rules;
  const hrefOf = (name: string) =>
    `/runs?${new URLSearchParams({ ...(group ? { group } : {}), manifest: name }).toString()}`;
  return (
    <dl className="facts" aria-label="About the manifest">
      <div>
        <dt>Retries</dt>
        <dd>{describeRetries(retries)}</dd>
      </div>
      {consumes === null ? null : (
        <div>
          <dt>Consumes</dt>
          <dd>
            <Link href={hrefOf(consumes)}>{consumes}</Link>, whose runs it gets when they are
            processed{isFilled ? "." : "; earlier ones are still to be copied."}
          </dd>
        </div>
      )}
      {consumers.length === 0 ? null : (
        <div>
          <dt>Consumers</dt>
          <dd>
            <ul className="pills">
              {consumers.map((name) => (
                <li key={name}>
                  <Link href={hrefOf(name)}>{name}</Link>
                </li>
              ))}
            </ul>
          </dd>
        </div>
      )}
    </dl>
  );
}
