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

const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex='0']";

/**
 * Of the controls that were there, the one that is next to what had the focus: after it, else before
 * it, and in the innermost of the places around it that still has one.
 */
export function nextTo<Control>(
  around: readonly { contains: (other: Control) => boolean }[],
  before: readonly Control[],
  after: readonly Control[],
): Control | undefined {
  for (const place of around) {
    const found =
      after.find((one) => place.contains(one)) ?? before.findLast((one) => place.contains(one));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Keeps the focus near its place when what has it goes: it would begin at the top of the page. */
export function useKeptFocus() {
  useEffect(() => {
    let had: Element | null = null;
    let around: Element[] = [];
    let controls: HTMLElement[] = [];
    const remember = ({ target }: FocusEvent) => {
      had = target instanceof Element ? target : null;
      around = [];
      for (let one = had?.parentElement ?? null; one; one = one.parentElement) around.push(one);
      controls = [...document.querySelectorAll<HTMLElement>(FOCUSABLE)];
    };
    const forget = () => (had = null);
    const observer = new MutationObserver(() => {
      if (had === null || had.isConnected || document.activeElement !== document.body) return;
      const at = controls.findIndex((one) => one === had);
      const isLeft = (one: HTMLElement) => one.isConnected && one.checkVisibility();
      const next = nextTo(
        around.filter((one) => one.isConnected),
        controls.slice(0, Math.max(at, 0)).filter(isLeft),
        controls.slice(at + 1).filter(isLeft),
      );
      had = null;
      next?.focus();
    });
    document.addEventListener("focusin", remember);
    document.addEventListener("pointerdown", forget);
    observer.observe(document.body, { childList: true, subtree: true });
    return () => {
      document.removeEventListener("focusin", remember);
      document.removeEventListener("pointerdown", forget);
      observer.disconnect();
    };
  }, []);
}
