import type { ReactNode } from "react";
import { formatNumber } from "./format";

interface AxesProps {
  /** The values at equal distances, from the top down. */
  values: readonly number[];
  /** The names below, each at its part of the width. */
  names: readonly { at: number; text: string }[];
  children: ReactNode;
}

/** A drawing with its values at the left and names below; text in the drawing would be stretched. */
export function Axes({ values, names, children }: AxesProps) {
  return (
    <div className="axes small muted">
      {values.length > 0 ? (
        <div className="values" aria-hidden>
          {values.map((value, place) => (
            <span key={place}>{formatNumber(value)}</span>
          ))}
        </div>
      ) : null}
      {children}
      <div className="names" aria-hidden>
        {names.map(({ at, text }) => (
          <span
            key={at}
            className={sideOf(at, text, values.length > 0)}
            style={{ insetInlineStart: `${100 * at}%` }}
          >
            {text}
          </span>
        ))}
      </div>
    </div>
  );
}

/** Beside values, names so short reach beside the drawing no farther than its values do. */
const SHORT = 10;

/** Names at the ends stay within the width. */
function sideOf(at: number, text: string, hasValues: boolean): string {
  if (at < 0.06) return hasValues && text.length <= SHORT ? "" : "first";
  return at > 0.94 ? "last" : "";
}
