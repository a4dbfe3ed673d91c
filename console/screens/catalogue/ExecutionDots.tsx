import { formatName, formatTime } from "../../parts/format";

export interface DottedExecution {
  id: string;
  state: string;
  createdAt: string;
}

/** The last executions as dots, the newest last. */
export function ExecutionDots({ executions }: { executions: readonly DottedExecution[] }) {
  if (executions.length === 0) return null;
  const shown = [...executions].reverse();
  const words = shown.map(({ state }) => formatName(state)).join(", ");
  return (
    <svg
      className="dots"
      role="img"
      aria-label={`Last executions: ${words}`}
      width={shown.length * 14}
      height={12}
    >
      {shown.map(({ id, state, createdAt }, index) => (
        <circle key={id} className={state} cx={7 + index * 14} cy={6} r={5}>
          <title>{`${formatName(state)}, ${formatTime(createdAt)}`}</title>
        </circle>
      ))}
    </svg>
  );
}
