import { useEffect, useRef } from "react";
import { useLocation, useSearchParams } from "wouter";

/** Whether the component is still shown, for what comes after an answer. */
function useIsShown(): { readonly current: boolean } {
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  return isShown;
}

/** Goes to another screen, unless the reader has left this one: an answer that is late leads nobody away. */
export function useNavigate(): (path: string) => void {
  const [, navigate] = useLocation();
  const isShown = useIsShown();
  return (path) => {
    if (isShown.current) navigate(path);
  };
}

/**
 * A parameter of the address, and what changes some of them: without a new entry in the history, or with one that the
 * back button leaves. Once the reader has left, the address is that of another screen and stays as it is.
 */
export function useAddress() {
  const [search, setSearch] = useSearchParams();
  const isShown = useIsShown();
  const change = (
    values: Readonly<Record<string, string | readonly string[] | null>>,
    { isStep = false } = {},
  ) => {
    if (!isShown.current) return;
    setSearch(
      (present) => {
        const next = new URLSearchParams(present);
        for (const [name, value] of Object.entries(values)) {
          next.delete(name);
          if (typeof value === "string") {
            if (value) next.set(name, value);
          } else value?.forEach((one) => next.append(name, one));
        }
        return next;
      },
      { replace: !isStep },
    );
  };
  return { search, change };
}

export type ChangeAddress = ReturnType<typeof useAddress>["change"];

/** The address of the present screen with other parameters, as a link of wouter takes it. */
export function hereWith(parameters: Readonly<Record<string, string>>): string {
  return `~${location.pathname}?${new URLSearchParams(parameters).toString()}`;
}

/** The path of a screen about one thing. */
export function pathOf(screen: string, id: string): string {
  return `/${screen}/${encodeURIComponent(id)}`;
}
