import { Check, Copy, Pencil, X } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { pathOf } from "./address";
import { formatName, formatNumber, formatTime, formatUtc } from "./format";

/** A time in the reader's zone; UTC on hover. */
export function Time({ at }: { at: string | null | undefined }) {
  if (!at) return <span className="muted">–</span>;
  return (
    <time dateTime={at} title={formatUtc(at)}>
      {formatTime(at)}
    </time>
  );
}

/** A number: space sets its digits apart in threes, and it is copied as it is. */
export function Digits({ value }: { value: number | string }) {
  const [, before = "", whole = "", after = ""] = /^(\D*)(\d*)(.*)$/.exec(String(value)) ?? [];
  const groups = whole.match(/\d{1,3}(?=(\d{3})*$)/g) ?? [];
  return (
    <span className="digits">
      {before}
      {groups.map((group, index) => (
        <span key={index}>{group}</span>
      ))}
      {after}
    </span>
  );
}

interface TagValue {
  key: string;
  value: string;
}

export function TagPills({ tags }: { tags: readonly TagValue[] }) {
  if (tags.length === 0) return null;
  return (
    <ul className="pills" aria-label="Tags">
      {tags.map(({ key, value }) => (
        <li key={`${key}=${value}`} className="pill">
          <b>{key}</b> <bdi>{value}</bdi>
        </li>
      ))}
    </ul>
  );
}

export function RemovablePill({ label, onRemove }: { label: string; onRemove: () => void }) {
  return (
    <span className="pill">
      <bdi>{label}</bdi>
      <button type="button" aria-label={`Remove ${label}`} onClick={onRemove}>
        <X size={14} aria-hidden />
      </button>
    </span>
  );
}

const TONES: Readonly<Record<string, string>> = {
  SUCCESS: "good",
  ENABLED: "good",
  DONE: "good",
  LOADED: "good",
  READY: "good",
  FAILED: "bad",
  GIVEN_UP: "bad",
  DISABLED: "bad",
  IN_PROGRESS: "busy",
  RUNNING: "busy",
  PROCESSING: "busy",
  LOADING: "busy",
  WAITING: "warn",
  FROZEN: "warn",
  PENDING: "warn",
};

/** A state, in colour and in words. */
export function StateBadge({ state }: { state: string }) {
  return <span className={`badge ${TONES[state] ?? ""}`}>{formatName(state)}</span>;
}

/** The id of the list of rejected rows on the screen of an execution. */
export const REJECTED = "rejected";

interface ExecutionBadgeProps {
  id: string;
  state: string;
  rejected: number | string;
}

/** How an execution ended; one that left rows out is no plain success, and leads to them. */
export function ExecutionBadge({ id, state, rejected }: ExecutionBadgeProps) {
  const count = Number(rejected);
  if (count === 0) return <StateBadge state={state} />;
  return (
    <>
      <StateBadge state={state} />{" "}
      <Link
        className="badge warn"
        href={`${pathOf("executions", id)}#${REJECTED}`}
        onClick={() => document.getElementById(REJECTED)?.focus()}
      >
        {formatNumber(count)} {count === 1 ? "row" : "rows"} rejected
      </Link>
    </>
  );
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    window.setTimeout(() => setCopied(false), 2_000);
  };
  const Icon = isCopied ? Check : Copy;
  return (
    <button
      type="button"
      className="button quiet icon"
      aria-label={isCopied ? `Copied ${what}` : `Copy ${what}`}
      onClick={() => void copy()}
    >
      <Icon size={16} aria-hidden />
    </button>
  );
}

/** The link to the editor of a resource. */
export function EditLink({ kind, id }: { kind: string; id: string }) {
  return (
    <Link className="button" href={`${pathOf(kind, id)}/edit`}>
      <Pencil size={16} aria-hidden /> Edit
    </Link>
  );
}
