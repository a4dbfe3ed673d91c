import { QueryClientProvider } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { Router } from "wouter";
import { Api } from "./api";
import { onReturn } from "./connection";
import { Live } from "./live";
import { createQueryClient, ServicesContext } from "./queries";
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
    setProblem(words);
    setSession(null);
  };
  return (
    <SignedIn
      key={caller}
      settings={settings}
      session={session}
      onSignedOut={signOut}
      onCaller={() => setCaller((count) => count + 1)}
    />
  );
}

interface SignedInProps {
  settings: Settings;
  session: Session;
  onSignedOut: (words: string | null) => void;
  onCaller: () => void;
}

function SignedIn({ settings, session, onSignedOut, onCaller }: SignedInProps) {
  const [client] = useState(createQueryClient);
  const services = useMemo(() => {
    const refresh = () => void client.invalidateQueries();
    const refused = () => onSignedOut("The server does not accept this session any more.");
    return {
      api: new Api(settings.endpoint, session, refused),
      live: new Live(settings.endpoint, session, refresh),
    };
    // The services stay as long as the session does.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [settings, session, client]);
  useEffect(() => onReturn(() => void client.invalidateQueries()), [client]);
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
