import { useMutation } from "@tanstack/react-query";
import { useRef, useState, type SubmitEvent } from "react";
import { announce } from "../../app/announcement";
import { type Failure, payloadOf } from "../../app/failure";
import { useAction, useServices } from "../../app/queries";
import { CreatePlaylist, EvaluateRule, SetPlaylistRule } from "../../graphql/generated/audio";
import type {
  EvaluateRuleQuery,
  PlaylistRuleInput,
  RuleFactsFragment,
} from "../../graphql/generated/types";
import { ActionButton } from "../../parts/ActionButton";
import { ChoiceField, Field } from "../../parts/fields";
import { useFocusAtFirst } from "../../parts/focus";
import { formatLength } from "../../parts/format";
import { Problem } from "../../parts/state";
import { FilterFields, type Offered } from "./FilterFields";
import { draftOf, NEW_RULE, ruleInput, TRACK_ORDERS } from "./rules";

interface RuleEditorProps {
  /** The smart playlist whose rule is changed; null to make one. */
  playlist: { id: string; name: string; version: number; rule: RuleFactsFragment } | null;
  offered: Offered;
  onDone: (id: string) => void;
  onCancel: () => void;
}

type Chosen = Extract<EvaluateRuleQuery["evaluatePlaylistRule"], { entryCount: number }>;

/** The rule of a smart playlist: what its tracks are, in which order, and which these are now. */
export function RuleEditor({ playlist, offered, onDone, onCancel }: RuleEditorProps) {
  const { api } = useServices();
  const form = useRef<HTMLFormElement>(null);
  const heading = useFocusAtFirst<HTMLHeadingElement>();
  const [name, setName] = useState(playlist?.name ?? "");
  const [draft, setDraft] = useState(() => (playlist ? draftOf(playlist.rule) : NEW_RULE));
  const rule = ruleInput(draft);
  const preview = useMutation<Chosen, Failure, PlaylistRuleInput>({
    mutationFn: async (shown) =>
      payloadOf((await api.run(EvaluateRule, { input: { rule: shown } })).evaluatePlaylistRule),
  });
  const create = useAction(
    CreatePlaylist,
    (data) => payloadOf(data.createPlaylist),
    ({ createPlaylist }) => {
      announce(`The smart playlist ${name} is made.`);
      if ("playlist" in createPlaylist) onDone(createPlaylist.playlist.id);
    },
  );
  const set = useAction(
    SetPlaylistRule,
    (data) => payloadOf(data.setPlaylistRule),
    (_, { input }) => {
      announce(`The playlist ${name} has another rule now.`);
      onDone(input.id);
    },
  );
  const error = create.error ?? set.error ?? preview.error;
  const wrongAt = (path: string) =>
    error?.problems.find((problem) =>
      new RegExp(`^${path}(\\.\\d+)?$`).test(problem.path.join(".")),
    )?.message;
  const show = (event: SubmitEvent) => {
    event.preventDefault();
    create.reset();
    set.reset();
    preview.mutate(rule);
  };
  const save = () => {
    if (!form.current?.reportValidity()) return;
    preview.reset();
    if (playlist === null) create.mutate({ input: { name, rule } });
    else set.mutate({ input: { id: playlist.id, rule, expectedVersion: playlist.version } });
  };
  return (
    <section className="stack" aria-label="Rule">
      <form ref={form} className="stack" onSubmit={show}>
        <h2 ref={heading} tabIndex={-1}>
          {playlist === null ? "New smart playlist" : `Rule of ${playlist.name}`}
        </h2>
        {playlist === null ? (
          <Field label="Name of the smart playlist" wrong={wrongAt("name")}>
            <input
              value={name}
              required
              maxLength={128}
              onChange={(event) => setName(event.target.value)}
            />
          </Field>
        ) : null}
        <FilterFields
          legend="Tracks for which all of this holds"
          path="rule.filter"
          wrongAt={wrongAt}
          offered={offered}
          filter={draft.filter}
          onChange={(filter) => setDraft({ ...draft, filter })}
        />
        <div className="row top">
          <ChoiceField
            label="Order"
            value={draft.order}
            choices={TRACK_ORDERS}
            onChange={(order) => setDraft({ ...draft, order })}
          />
          {draft.order === "RANDOM" ? (
            <Field label="Drawn by (empty: anew each day)" wrong={wrongAt("rule.seed")}>
              <input
                value={draft.seed}
                onChange={(event) => setDraft({ ...draft, seed: event.target.value })}
              />
            </Field>
          ) : null}
          <Field label="At most so many tracks" wrong={wrongAt("rule.limit")}>
            <input
              type="number"
              required
              value={draft.limit}
              onChange={(event) => setDraft({ ...draft, limit: event.target.value })}
            />
          </Field>
        </div>
        {error ? <Problem error={error} /> : null}
        <div className="row">
          <ActionButton tone="" isBusy={preview.isPending}>
            Show its tracks
          </ActionButton>
          <ActionButton isBusy={create.isPending || set.isPending} onClick={save}>
            {playlist === null ? "Make the smart playlist" : "Save the rule"}
          </ActionButton>
          <button type="button" className="button" onClick={onCancel}>
            Cancel
          </button>
        </div>
      </form>
      <Preview
        chosen={preview.data}
        isOutdated={JSON.stringify(preview.variables) !== JSON.stringify(rule)}
      />
    </section>
  );
}

/** The tracks that a rule chooses: how many, and the first of them. */
function Preview({ chosen, isOutdated }: { chosen: Chosen | undefined; isOutdated: boolean }) {
  const entries = chosen?.entries.nodes ?? [];
  const count = chosen?.entryCount ?? 0;
  const words = `${count} ${count === 1 ? "track" : "tracks"}, ${formatLength(Number(chosen?.durationMs ?? 0))}`;
  return (
    <section className="stack tight" aria-label="Preview">
      <p role="status">
        {chosen ? <strong>{words}</strong> : null}
        {chosen && isOutdated ? " The rule has changed since." : null}
      </p>
      {entries.length > 0 ? (
        <div className="card">
          <ol aria-label="First tracks">
            {entries.map(({ id, title, artist }) => (
              <li key={id}>
                {title} <span className="small muted">{artist}</span>
              </li>
            ))}
          </ol>
        </div>
      ) : null}
      {count > entries.length ? (
        <p className="small muted">{`and ${count - entries.length} more`}</p>
      ) : null}
    </section>
  );
}
