import { CircleAlert, Inbox, LoaderCircle, ShieldX } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { type Failure, failureOf, type FieldProblem } from "../app/failure";
import { ActionButton } from "./ActionButton";
import { describePath } from "./describePath";
import { useTitle } from "./title";

/** Words for something that takes time; nothing for what is there at once. */
export function Loading({ what }: { what: string }) {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setSlow(true), 200);
    return () => window.clearTimeout(timer);
  }, []);
  return (
    <p role="status" className="row middle muted">
      {isSlow ? (
        <>
          <LoaderCircle className="spin" size={18} aria-hidden /> Loading {what}…
        </>
      ) : (
        <span className="visually-hidden">Loading {what}…</span>
      )}
    </p>
  );
}

/** A failure in the API's words, with the page about its code. */
export function Problem({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const failure = failureOf(error);
  const isDenied = failure.code === "FORBIDDEN" || failure.code === "UNAUTHENTICATED";
  const Icon = isDenied ? ShieldX : CircleAlert;
  return (
    <div role="alert" className="note note-bad">
      <p className="row middle">
        <Icon size={18} aria-hidden />
        <strong className="grow">{messageOf(failure)}</strong>
      </p>
      {failure.problems.map((problem, index) => (
        <div key={index} className="small">
          {isSaid(problem, failure) ? null : describeProblem(problem)}
          {problem.excerpt ? <pre>{problem.excerpt}</pre> : null}
        </div>
      ))}
      <p className="small muted row middle">
        {failure.docUrl ? (
          <a href={failure.docUrl} target="_blank" rel="noreferrer">
            {failure.code}
          </a>
        ) : (
          <span>{failure.code}</span>
        )}
        {failure.requestId ? <span>request {failure.requestId}</span> : null}
        {onRetry && failure.isRetryable ? (
          <button type="button" className="button quiet" onClick={onRetry}>
            Try again
          </button>
        ) : null}
      </p>
    </div>
  );
}

/** What is wrong, and where, as the screens name that place; a name alone is that of a field. */
function describeProblem({ path, message }: FieldProblem): string {
  const place = path.length > 1 ? describePath(`/${path.join("/")}`) : path.join("");
  return `${path.length > 1 ? place.replace(/^./, (first) => first.toUpperCase()) : place}: ${message}`;
}

function messageOf(failure: Failure): string {
  const said = failure.problems.find((problem) => isSaid(problem, failure));
  return said ? describeProblem(said) : failure.message;
}

/** Whether the failure's own message is that of a problem, as it is where there is only one. */
function isSaid({ path, message }: FieldProblem, failure: Failure): boolean {
  return failure.message === `${path.join(".")}: ${message}`;
}

interface EmptyProps {
  title: string;
  /** Whether it stands for the whole screen. */
  isScreen?: boolean;
  children?: ReactNode;
}

/** What stands in place of a list that has no entries. */
export function Empty({ title, isScreen = false, children }: EmptyProps) {
  return (
    <div className="drop">
      <Inbox size={28} aria-hidden />
      {isScreen ? <ScreenTitle title={title} /> : <h2>{title}</h2>}
      {children}
    </div>
  );
}

/** The heading of a screen, which the browser's title names too. */
function ScreenTitle({ title }: { title: string }) {
  useTitle(title);
  return <h1>{title}</h1>;
}

interface Query<Data> {
  data: Data | undefined;
  error: unknown;
  refetch: () => unknown;
}

/** The answer of a query, or words while it is asked and if it is refused. */
export function Answered<Data>({
  query,
  what,
  isPart = false,
  missing = <Missing what={what.replace(/^the /, "")} isPart={isPart} />,
  children,
}: {
  query: Query<Data>;
  what: string;
  /** Whether it is a part of a screen that has a heading of its own. */
  isPart?: boolean;
  /** What stands in its place if there is no such thing. */
  missing?: ReactNode;
  children: (data: Data) => ReactNode;
}) {
  if (query.error && query.data === undefined) {
    if (failureOf(query.error).code === "NOT_FOUND") return <>{missing}</>;
    return <Problem error={query.error} onRetry={() => void query.refetch()} />;
  }
  if (query.data === undefined) return <Loading what={what} />;
  return <>{children(query.data)}</>;
}

/** What stands in place of a list until its first page is there, or if it is refused. */
export function PendingList({ pages, what }: { pages: { error: unknown }; what: string }) {
  return pages.error ? <Problem error={pages.error} /> : <Loading what={what} />;
}

interface MissingProps {
  what: string;
  isPart?: boolean;
  /** Whether it was looked for at a time in the past. */
  isPast?: boolean;
}

/** What stands in place of something that is not there, or not for this caller. */
export function Missing({ what, isPart = false, isPast = false }: MissingProps) {
  if (isPast) {
    return (
      <Empty title={`There was no such ${what} at this time`} isScreen>
        <p>It was made later, or you have no role in a group that sees it.</p>
      </Empty>
    );
  }
  return (
    <Empty title={`There is no such ${what}`} isScreen={!isPart}>
      <p>It was deleted, or you have no role in a group that sees it.</p>
    </Empty>
  );
}

export interface Paged {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
}

/** The button for the next page of a list, while there is one. */
export function More({ pages, what }: { pages: Paged; what: string }) {
  if (!pages.hasNextPage) return null;
  return (
    <ActionButton
      tone=""
      isBusy={pages.isFetchingNextPage}
      onClick={() => void pages.fetchNextPage()}
    >
      {pages.isFetchingNextPage ? `Loading ${what}…` : `More ${what}`}
    </ActionButton>
  );
}
