import { Plus, Trash2 } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import { ChoiceField, Field } from "../../parts/fields";
import { useRowFocus } from "../../parts/focus";
import { RemovablePill } from "../../parts/marks";
import { TimeField } from "../../parts/TimeRange";
import {
  type Condition,
  type ConditionDraft,
  CONDITION_NAMES,
  CONDITIONS,
  type FilterDraft,
  NEW_FILTER,
  newCondition,
  type Value,
} from "./rules";

/** The names of the library that fields for names offer. */
export type Offered = Readonly<Partial<Record<Condition, readonly string[]>>>;

interface PlaceProps {
  /** The place in the rule, as the server names it. */
  path: string;
  /** What the server finds wrong at a place. */
  wrongAt: (path: string) => string | undefined;
  offered: Offered;
}

interface FilterFieldsProps extends PlaceProps {
  legend: string;
  filter: FilterDraft;
  onChange: (filter: FilterDraft) => void;
  /** Takes the filter away; without it, it is the one of the rule, which may have others within. */
  onRemove?: () => void;
}

/** The conditions of a filter, all of which must hold; each is added by its name. */
export function FilterFields(props: FilterFieldsProps) {
  const { legend, filter, onChange, onRemove, ...place } = props;
  const { conditions, anyOf, noneOf } = filter;
  const list = useRowFocus<HTMLFieldSetElement>(conditions.length);
  const free = CONDITION_NAMES.filter((name) => conditions.every((one) => one.name !== name));
  const [wanted, setWanted] = useState<Condition>("genres");
  const next = free.includes(wanted) ? wanted : free[0];
  const replace = (at: number, by: readonly ConditionDraft[]) =>
    onChange({ ...filter, conditions: conditions.toSpliced(at, 1, ...by) });
  const wrong = place.wrongAt(place.path);
  return (
    <fieldset className="stack tight" ref={list}>
      <legend>{legend}</legend>
      {wrong ? <p className="wrong">This filter {wrong}.</p> : null}
      {conditions.map((condition, at) => (
        <div key={condition.name} data-row className="row top">
          <ConditionField
            {...place}
            path={`${place.path}.${condition.name}`}
            condition={condition}
            onChange={(value) => replace(at, [{ ...condition, value }])}
          />
          <button
            type="button"
            className="button icon"
            aria-label={`Remove ${CONDITIONS[condition.name].words}`}
            onClick={() => replace(at, [])}
          >
            <Trash2 size={16} aria-hidden />
          </button>
        </div>
      ))}
      <div className="row">
        {next ? (
          <>
            <ChoiceField
              label="Condition"
              className="grow"
              value={next}
              choices={free.map((name) => [name, CONDITIONS[name].words] as const)}
              onChange={setWanted}
            />
            <button
              type="button"
              className="button"
              data-add
              onClick={() =>
                onChange({ ...filter, conditions: [...conditions, newCondition(next)] })
              }
            >
              <Plus size={16} aria-hidden /> Add the condition
            </button>
          </>
        ) : null}
        {onRemove ? (
          <button type="button" className="button danger" onClick={onRemove}>
            Remove {legend.toLowerCase()}
          </button>
        ) : null}
      </div>
      {onRemove ? null : (
        <>
          <InnerFilters
            {...place}
            path={`${place.path}.anyOf`}
            noun="alternative"
            filters={anyOf}
            onChange={(filters) => onChange({ ...filter, anyOf: filters })}
          />
          <InnerFilters
            {...place}
            path={`${place.path}.noneOf`}
            noun="exception"
            filters={noneOf}
            onChange={(filters) => onChange({ ...filter, noneOf: filters })}
          />
        </>
      )}
    </fieldset>
  );
}

interface InnerFiltersProps extends PlaceProps {
  noun: "alternative" | "exception";
  filters: readonly FilterDraft[];
  onChange: (filters: readonly FilterDraft[]) => void;
}

/** Filters within a filter: alternatives, of which one must hold, or exceptions, none of which may. */
function InnerFilters({ noun, filters, onChange, path, ...place }: InnerFiltersProps) {
  const list = useRowFocus<HTMLDivElement>(filters.length);
  return (
    <div className="stack tight" ref={list}>
      {filters.map((filter, at) => (
        <div key={at} data-row className="card">
          <FilterFields
            {...place}
            path={`${path}.${at}`}
            legend={`${noun === "alternative" ? "Alternative" : "Exception"} ${at + 1}`}
            filter={filter}
            onChange={(changed) => onChange(filters.with(at, changed))}
            onRemove={() => onChange(filters.toSpliced(at, 1))}
          />
        </div>
      ))}
      <div className="row middle">
        <button
          type="button"
          className="button"
          data-add
          onClick={() => onChange([...filters, NEW_FILTER])}
        >
          <Plus size={16} aria-hidden /> Add an {noun}
        </button>
        <span className="small muted">
          {noun === "alternative" ? "One of the alternatives must hold." : "No exception may hold."}
        </span>
      </div>
    </div>
  );
}

interface ConditionFieldProps extends PlaceProps {
  condition: ConditionDraft;
  onChange: (value: Value) => void;
}

function ConditionField({ condition, onChange, path, wrongAt, offered }: ConditionFieldProps) {
  const { name, value } = condition;
  const { words, kind } = CONDITIONS[name];
  const [text = ""] = value;
  const wrong = wrongAt(path);
  switch (kind) {
    case "names":
      return (
        <NamesField
          label={words}
          value={value}
          offered={offered[name] ?? []}
          wrong={wrong}
          onChange={onChange}
        />
      );
    case "star":
      return (
        <ChoiceField
          label={words}
          className="grow"
          value={text === "no" ? "no" : "yes"}
          choices={[
            ["yes", "yes"],
            ["no", "no"],
          ]}
          onChange={(chosen) => onChange([chosen])}
        />
      );
    case "time":
      return (
        <div className="grow">
          <TimeField
            label={words}
            value={text || null}
            onChange={(time) => onChange([time ?? ""])}
          />
          {wrong ? <span className="wrong">{wrong}</span> : null}
        </div>
      );
    case "text":
    case "number":
      return (
        <Field label={words} className="grow" wrong={wrong}>
          <input
            type={kind}
            value={text}
            required
            aria-invalid={wrong !== undefined}
            onChange={(event) => onChange([event.target.value])}
          />
        </Field>
      );
  }
}

interface NamesFieldProps {
  label: string;
  value: Value;
  offered: readonly string[];
  wrong: string | undefined;
  onChange: (value: Value) => void;
}

/** A field for one of several names; what is still typed in it counts too. */
function NamesField({ label, value, offered, wrong, onChange }: NamesFieldProps) {
  const id = useId();
  const typed = value.at(-1) ?? "";
  const names = value.slice(0, -1);
  const addByKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || typed.trim() === "") return;
    event.preventDefault();
    onChange([...names, typed.trim(), ""]);
  };
  return (
    <div className="grow stack tight">
      <Field label={`${label}, one of`} wrong={wrong}>
        <input
          list={id}
          value={typed}
          required={names.length === 0}
          aria-invalid={wrong !== undefined}
          onKeyDown={addByKey}
          onChange={(event) => onChange([...names, event.target.value])}
        />
        <datalist id={id}>
          {offered.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </Field>
      {names.length > 0 ? (
        <div className="pills">
          {names.map((name, at) => (
            <RemovablePill
              key={name}
              label={name}
              onRemove={() => onChange(value.toSpliced(at, 1))}
            />
          ))}
        </div>
      ) : null}
    </div>
  );
}
