import { useSearchParams } from "wouter";

/** A parameter of the address, and what changes some of them without a new entry in the history. */
export function useAddress() {
  const [search, setSearch] = useSearchParams();
  const change = (values: Readonly<Record<string, string | readonly string[] | null>>) => {
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
      { replace: true },
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
