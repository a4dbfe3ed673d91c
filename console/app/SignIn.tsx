import { useState, type SubmitEvent } from "react";
import { readForm } from "../parts/forms";
import type { Settings } from "./settings";

interface SignInProps {
  settings: Settings;
  problem: string | null;
  onToken: (token: string) => void;
}

/** What a visitor without a session sees: the way in. */
export function SignIn({ settings, problem, onToken }: SignInProps) {
  return (
    <main className="sign-in">
      <h1>Penstock</h1>
      <p>
        Pipelines and calculations, their executions, runs, sensors and audio, in one catalogue.
      </p>
      {problem ? (
        <p role="alert" className="note note-bad">
          {problem}
        </p>
      ) : null}
      {settings.issuer ? <IssuerButton issuer={settings.issuer} /> : null}
      {settings.sessionUrl ? (
        <p>
          This server is for development. <code>penstock console-url</code> prints an address that
          opens the console signed in, once.
        </p>
      ) : null}
      {settings.issuer ? null : <TokenForm onToken={onToken} />}
    </main>
  );
}

function IssuerButton({ issuer }: { issuer: NonNullable<Settings["issuer"]> }) {
  const [problem, setProblem] = useState<string | null>(null);
  const signIn = async () => {
    try {
      const { beginSignIn } = await import("./issuerSession");
      await beginSignIn(issuer);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <button type="button" className="button primary" onClick={() => void signIn()}>
        Sign in at {new URL(issuer.url).host}
      </button>
      {problem ? <p role="alert">The issuer cannot be used: {problem}</p> : null}
    </>
  );
}

function TokenForm({ onToken }: { onToken: (token: string) => void }) {
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    const token = readForm(event)["token"];
    if (token?.trim()) onToken(token);
  };
  return (
    <form className="row" onSubmit={submit}>
      <label className="field grow">
        <span>Token or API key</span>
        <input name="token" type="password" autoComplete="off" />
      </label>
      <button type="submit" className="button primary">
        Sign in
      </button>
    </form>
  );
}
