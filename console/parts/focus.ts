import { useEffect, useRef } from "react";

/** Gives the focus to what appears in place of what had it. */
export function useFocusAtFirst<Shown extends HTMLElement>(isWanted = true) {
  const shown = useRef<Shown>(null);
  useEffect(() => {
    if (isWanted) shown.current?.focus();
  }, [isWanted]);
  return shown;
}

/**
 * Moves the focus with the rows of a list, which have `data-row`: to the first field of a row that is
 * added, and to the button that adds one, `data-add`, when a row is gone.
 */
export function useRowFocus<List extends HTMLElement>(count: number) {
  const list = useRef<List>(null);
  const shown = useRef(count);
  useEffect(() => {
    const before = shown.current;
    shown.current = count;
    if (count === before) return;
    const added = [...(list.current?.querySelectorAll("[data-row]") ?? [])].at(-1);
    const place =
      count > before
        ? added?.querySelector<HTMLElement>("input, select, textarea")
        : list.current?.querySelector<HTMLElement>("[data-add]");
    place?.focus();
  }, [count]);
  return list;
}
