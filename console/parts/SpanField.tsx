import { ChoiceField } from "./fields";
import { nameOfSpan, type Span, spanOf, SPANS } from "./spans";

interface SpanFieldProps {
  span: Span;
  /** Whether its years are those of UTC, as rows and metrics count them. */
  isUtc?: boolean;
  /** The words for no span. */
  none?: string;
  onChange: (span: Span) => void;
}

/** A field for the spans that are asked for most; any other one is typed beside it. */
export function SpanField({ span, isUtc = false, none = "all", onChange }: SpanFieldProps) {
  // The words for a span are those of today, whenever the page was opened.
  // oxlint-disable-next-line react/purity
  const now = new Date();
  const isOwn = span.from !== null || span.to !== null;
  const named = nameOfSpan(span, now, isUtc);
  const own = isOwn && named === null ? [["own", "as typed"] as const] : [];
  const choices = [["", none] as const, ...own, ...SPANS.map((name) => [name, name] as const)];
  return (
    <ChoiceField
      label="Time"
      value={named ?? (isOwn ? "own" : "")}
      choices={choices}
      onChange={(chosen) => {
        const name = SPANS.find((one) => one === chosen);
        // The page may be older than this day.
        if (name) onChange(spanOf(name, new Date(), isUtc));
        else if (chosen === "") onChange({ from: null, to: null });
      }}
    />
  );
}
