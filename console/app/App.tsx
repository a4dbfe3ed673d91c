import { QueryClientProvider } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { Router } from "wouter";
import { dismissAnnouncement } from "./announcement";
import { Api } from "./api";
import { onReturn } from "./connection";
import { Live } from "./live";
import { playTracks } from "./playQueue";
import { createQueryClient, readAgain, ServicesContext } from "./queries";
import { Screens } from "./Screens";
import { type FoundSession, type Session, TypedSession } from "./session";
import type { Settings } from "./settings";
import { SignIn } from "./SignIn";

/** The console: the sign-in, or the screens of who is signed in. */
export function App({ settings, found }: { settings: Settings; found: FoundSession }) {
  const [session, setSession] = useState(found.session);
  const [problem, setProblem] = useState(found.problem);
  const [caller, setCaller] = useState(0);
  if (session === null) {
    const signIn = (token: string) => {
      setProblem(null);
      setSession(new TypedSession(token));
    };
    return <SignIn settings={settings} problem={problem} onToken={signIn} />;
  }
  const signOut = (words: string | null) => {
    session.end();
    forgetCaller();
    setProblem(words);
    setSession(null);
  };
  return (
    <SignedIn
      key={caller}
      beginsAt={caller > 0 ? "caller" : session instanceof TypedSession ? "screen" : null}
      settings={settings}
      session={session}
      onSignedOut={signOut}
      onCaller={() => {
        forgetCaller();
        setCaller((count) => count + 1);
      }}
    />
  );
}

/** Another caller hears and sees nothing of the one before. */
function forgetCaller(): void {
  dismissAnnouncement();
  playTracks([]);
}

interface SignedInProps {
  /** The id of what takes the focus, if what had it is gone. */
  beginsAt: string | null;
  settings: Settings;
  session: Session;
  onSignedOut: (words: string | null) => void;
  onCaller: () => void;
}

function SignedIn({ beginsAt, settings, session, onSignedOut, onCaller }: SignedInProps) {
  const [client] = useState(createQueryClient);
  const services = useMemo(() => {
    const refresh = () => void readAgain(client);
    const refused = () => onSignedOut("The server does not accept this session any more.");
    return {
      api: new Api(settings.endpoint, session, refused),
      live: new Live(settings.endpoint, session, refresh),
    };
    // The services stay as long as the session does.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [settings, session, client]);
  useEffect(() => {
    if (beginsAt) document.getElementById(beginsAt)?.focus({ preventScroll: true });
  }, [beginsAt]);
  useEffect(() => onReturn(() => void readAgain(client)), [client]);
  useEffect(() => () => services.live.end(), [services]);
  return (
    <QueryClientProvider client={client}>
      <ServicesContext value={services}>
        <Router base={settings.base}>
          <Screens settings={settings} onSignOut={() => onSignedOut(null)} onCaller={onCaller} />
        </Router>
      </ServicesContext>
    </QueryClientProvider>
  );
}
