import { KeyRound } from "lucide-react";
import { useState, type SubmitEvent } from "react";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction, useAnswer } from "../../app/queries";
import { ApiKeys, CreateApiKey, RevokeApiKey } from "../../graphql/generated/groups";
import type { Role } from "../../graphql/generated/types";
import { ActionButton } from "../../parts/ActionButton";
import { ConfirmationDialog } from "../../parts/ConfirmationDialog";
import { Field, GroupField } from "../../parts/fields";
import { useFocusAtFirst } from "../../parts/focus";
import { readForm } from "../../parts/forms";
import { formatName } from "../../parts/format";
import { CopyButton, Time } from "../../parts/marks";
import { ModalDialog } from "../../parts/ModalDialog";
import { Answered, Empty, Problem } from "../../parts/state";
import type { HeldRole } from "../../parts/roles";

/** The caller's API keys; the secret of a new one is shown once. */
export function ApiKeyList({ roles }: { roles: readonly HeldRole[] }) {
  const query = useAnswer(ApiKeys, {});
  const [isNew, setNew] = useState(false);
  const [leaving, setLeaving] = useState<{ id: string; name: string } | null>(null);
  return (
    <section className="stack" aria-label="API keys">
      {query.error?.code === "FORBIDDEN" ? null : (
        <p>
          <button type="button" className="button primary" onClick={() => setNew(true)}>
            <KeyRound size={16} aria-hidden /> New key
          </button>
        </p>
      )}
      <Answered query={query} what="your keys">
        {({ viewer }) =>
          viewer.apiKeys && viewer.apiKeys.nodes.length > 0 ? (
            <ul className="cards">
              {viewer.apiKeys.nodes.map(({ id, name, roles: given, expiresAt }) => (
                <li key={id} className="card row middle">
                  <span className="grow">
                    <strong>{name}</strong>
                    <br />
                    <span className="small muted">
                      {given.map(({ group, role }) => `${formatName(role)} of ${group}`).join(", ")}
                      ; until <Time at={expiresAt} />
                    </span>
                  </span>
                  <button
                    type="button"
                    className="button danger"
                    aria-label={`Revoke ${name}`}
                    onClick={() => setLeaving({ id, name })}
                  >
                    Revoke
                  </button>
                </li>
              ))}
            </ul>
          ) : (
            <Empty title="No keys">
              <p>A key lets a program act with some of your roles, until it expires.</p>
            </Empty>
          )
        }
      </Answered>
      {isNew ? <NewKey roles={roles} onClose={() => setNew(false)} /> : null}
      {leaving ? <Revocation {...leaving} onClose={() => setLeaving(null)} /> : null}
    </section>
  );
}

interface RevocationProps {
  id: string;
  name: string;
  onClose: () => void;
}

/** The end of a key, once it is confirmed. */
function Revocation({ id, name, onClose }: RevocationProps) {
  const revoke = useAction(
    RevokeApiKey,
    (data) => payloadOf(data.revokeApiKey),
    () => {
      onClose();
      announce(`The key ${name} is revoked.`);
    },
  );
  return (
    <ConfirmationDialog
      title={`Revoke the key ${name}`}
      action="Revoke it"
      removal={revoke}
      onConfirm={() => revoke.mutate({ input: { id } })}
      onClose={onClose}
    >
      <p>Programs that use it are refused from now on. It cannot be brought back.</p>
    </ConfirmationDialog>
  );
}

function Secret({ secret, onKept }: { secret: string; onKept: () => void }) {
  const words = useFocusAtFirst<HTMLParagraphElement>();
  return (
    <div className="stack">
      <p ref={words} tabIndex={-1}>
        This secret is shown only now. Keep it where your program finds it.
      </p>
      <p className="row middle">
        <code className="grow">{secret}</code>
        <CopyButton text={secret} what="the secret" />
      </p>
      <button type="button" className="button primary" onClick={onKept}>
        I have kept it
      </button>
    </div>
  );
}

const ROLES: readonly Role[] = ["READER", "CONTRIBUTOR", "ADMIN"];

function NewKey({ roles, onClose }: { roles: readonly HeldRole[]; onClose: () => void }) {
  const create = useAction(CreateApiKey, (data) => payloadOf(data.createApiKey));
  // A key for everything is chosen on purpose.
  const [first, ...others] = roles.map(({ group: held }) => held).filter((held) => held !== "/");
  const [group, setGroup] = useState(others.length === 0 ? (first ?? "") : "");
  const made = create.data?.createApiKey;
  const secret = made && "secret" in made ? made.secret : null;
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    const typed = readForm(event);
    const lasts = Number(typed["days"]) * 86_400_000;
    const expiresAt = new Date(Date.now() + lasts).toISOString();
    const role = ROLES.find((one) => one === typed["role"]) ?? "READER";
    const name = typed["name"] ?? "";
    const onSuccess = () => announce(`The key ${name} is made.`);
    create.mutate({ input: { name, expiresAt, roles: [{ group, role }] } }, { onSuccess });
  };
  return (
    <ModalDialog title="New API key" onClose={onClose} isHeld={secret !== null}>
      {secret ? (
        <Secret secret={secret} onKept={onClose} />
      ) : (
        <form className="stack" onSubmit={submit}>
          <Field label="Name">
            <input name="name" required />
          </Field>
          <div className="row top">
            <Field label="Role">
              <select name="role">
                {ROLES.map((role) => (
                  <option key={role} value={role}>
                    {formatName(role)}
                  </option>
                ))}
              </select>
            </Field>
            <GroupField label="of group" value={group} onChange={setGroup} required />
          </div>
          <Field label="Days until it expires">
            <input name="days" type="number" min={1} max={365} defaultValue={90} required />
          </Field>
          {create.error ? <Problem error={create.error} /> : null}
          <ActionButton isBusy={create.isPending}>Create</ActionButton>
        </form>
      )}
    </ModalDialog>
  );
}
