import { Link } from "wouter";
import { hereWith, useAddress } from "./address";

/** Parts of a screen, of which the address names one. */
export function Tabs({ names, label }: { names: readonly string[]; label: string }) {
  const { search } = useAddress();
  const present = presentTab(search, names);
  return (
    <nav className="tabs" aria-label={label}>
      {names.map((name) => (
        <Link
          key={name}
          href={hereWith({ tab: name.toLowerCase() })}
          aria-current={name === present ? "page" : undefined}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}

export function presentTab<Name extends string>(
  search: URLSearchParams,
  names: readonly Name[],
): Name | undefined {
  return names.find((name) => name.toLowerCase() === search.get("tab")) ?? names[0];
}
