import { useRef } from "react";

/**
 * Begins a turn, and returns whether it is still the last one begun: an answer that comes after that
 * to a later question shows nothing.
 */
export function useTurns(): () => () => boolean {
  const last = useRef(0);
  return () => {
    const mine = ++last.current;
    return () => mine === last.current;
  };
}
