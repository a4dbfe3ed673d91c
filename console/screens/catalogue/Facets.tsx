import { ChevronDown, ChevronRight } from "lucide-react";
import { useState } from "react";
import { useAnswer, usePages } from "../../app/queries";
import { FacetKeys, FacetValues } from "../../graphql/generated/catalogue";
import type { NameFilter, State } from "../../graphql/generated/types";
import { ChoiceField } from "../../parts/fields";
import { Loading, More, PendingList, Problem } from "../../parts/state";
import type { Kind } from "./kinds";
import { type Filter, type FilterTag, type Mode, modeOf, toInput } from "./tagFilter";

const MODE_NAMES: readonly (readonly [Mode, string])[] = [
  ["all", "required (ALL)"],
  ["any", "one of several (ANY)"],
  ["none", "excluded (NONE)"],
];

interface FacetsProps {
  kind: Kind;
  scope: {
    group: string | null;
    below: boolean;
    states: State[];
    owner: string | null;
    name: NameFilter | null;
  };
  filter: Filter;
  onChoose: (mode: Mode, tag: FilterTag) => void;
  /** Leave out what carries a key, whatever its value. */
  onWithout: (key: string) => void;
}

/** The tags of what is found, by key and level, with how many carry each under the filter. */
export function Facets(props: FacetsProps) {
  const { kind, scope, filter } = props;
  const [mode, setMode] = useState<Mode>("all");
  // On a narrow window what is found comes first.
  const [isWide] = useState(() => matchMedia("(width >= 60rem)").matches);
  // Alternatives are counted beside those that are chosen: under all, they would not be there.
  const counted = mode === "any" ? { ...filter, any: [] } : filter;
  const variables = { kind, ...scope, tags: toInput(counted) };
  const { data, error, refetch } = useAnswer(FacetKeys, variables, { keep: true });
  if (error && !data) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading what="tags" />;
  return (
    <aside className="card" aria-label="Tags">
      <details className="facet" open={isWide}>
        <summary>Tags</summary>
        <div className="stack tight">
          <ChoiceField
            label="A chosen tag is"
            value={mode}
            choices={MODE_NAMES}
            onChange={setMode}
          />
          {data.tagKeys.nodes.length === 0 ? <p className="muted">No tags here.</p> : null}
          {data.tagKeys.nodes.map(({ key, label, count }) => (
            <FacetKey
              key={key}
              {...props}
              counted={counted}
              mode={mode}
              tagKey={key}
              label={label}
              count={count}
              lacking={countLacking(data.tagKeys.resourceCount, count)}
            />
          ))}
          {data.tagKeys.isComplete ? null : (
            <p className="small muted">
              There is more than can be counted at once; narrow the search.
            </p>
          )}
        </div>
      </details>
    </aside>
  );
}

interface FacetKeyProps extends FacetsProps {
  /** The filter under which tags are counted. */
  counted: Filter;
  mode: Mode;
  tagKey: string;
  label: string;
  count?: number | null;
  /** How many lack the key. */
  lacking: number | null;
}

/** How many lack a key, of all that are counted; null if either count is not known. */
function countLacking(all?: number | null, having?: number | null): number | null {
  return typeof all === "number" && typeof having === "number" ? all - having : null;
}

function FacetKey({ label, count, lacking, ...props }: FacetKeyProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="facet" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <bdi>{label}</bdi> <span className="muted small">{count ?? ""}</span>
      </summary>
      {isOpen ? (
        <>
          <FacetLevel {...props} parent={null} />
          <button
            type="button"
            className="choose small start"
            onClick={() => props.onWithout(props.tagKey)}
          >
            <span>
              without <bdi>{label}</bdi>
            </span>
            <span className="muted">{lacking ?? ""}</span>
          </button>
        </>
      ) : null}
    </details>
  );
}

interface FacetLevelProps extends FacetsProps {
  counted: Filter;
  mode: Mode;
  tagKey: string;
  parent: string | null;
}

function FacetLevel(props: FacetLevelProps) {
  const { kind, scope, filter, counted, mode, tagKey, parent, onChoose } = props;
  const [opened, setOpened] = useState<string | null>(null);
  const variables = { kind, ...scope, tags: toInput(counted), key: tagKey, parent };
  const pages = usePages(FacetValues, variables, (page) => page.tagValues);
  if (!pages.nodes) {
    return <PendingList pages={pages} what="values" />;
  }
  return (
    <ul>
      {pages.nodes.map(({ value, label: words, count, hasChildren }) => {
        const tag = { key: tagKey, value };
        const isOpen = opened === value;
        return (
          <li key={value}>
            <div className="level">
              <button
                type="button"
                className="choose"
                aria-pressed={modeOf(filter, tag) !== null}
                onClick={() => onChoose(modeOf(filter, tag) ?? mode, tag)}
              >
                <bdi>{words}</bdi>
                <span className="muted">{count ?? ""}</span>
              </button>
              {hasChildren ? (
                <button
                  type="button"
                  className="button quiet icon"
                  aria-expanded={isOpen}
                  aria-label={`Below ${words}`}
                  onClick={() => setOpened(isOpen ? null : value)}
                >
                  {isOpen ? (
                    <ChevronDown size={16} aria-hidden />
                  ) : (
                    <ChevronRight size={16} aria-hidden />
                  )}
                </button>
              ) : null}
            </div>
            {isOpen ? <FacetLevel {...props} parent={value} /> : null}
          </li>
        );
      })}
      <More pages={pages} what="values" />
    </ul>
  );
}
