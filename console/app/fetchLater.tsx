import { type ComponentType, type ReactNode, useEffect, useState } from "react";

/**
 * A component whose code is fetched when it is first shown, and what stands in its place till then.
 * React's own `lazy` shows fetched code only after the fallback has been there for 0.3 seconds.
 */
export function fetchLater<Props extends object>(
  fetchCode: () => Promise<{ default: ComponentType<Props> }>,
  standIn: ReactNode,
): ComponentType<Props> {
  let fetched: ComponentType<Props> | null = null;
  return function FetchedLater(props: Props) {
    const [known, setKnown] = useState({ Fetched: fetched, failure: null as Error | null });
    const { Fetched, failure } = known;
    useEffect(() => {
      if (Fetched !== null) return;
      fetchCode().then(
        (code) => {
          fetched = code.default;
          setKnown({ Fetched: fetched, failure: null });
        },
        (error: unknown) => setKnown({ Fetched: null, failure: error as Error }),
      );
    }, [Fetched]);
    if (failure !== null) throw failure;
    return Fetched === null ? standIn : <Fetched {...props} />;
  };
}
