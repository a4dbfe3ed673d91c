import {
  Activity,
  Calculator,
  ChartColumn,
  Database,
  Droplets,
  FolderTree,
  LogOut,
  Music,
  PlugZap,
  Radio,
  ServerCog,
  Table2,
  Workflow,
  X,
} from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { Viewer } from "../graphql/generated/shell";
import { useKeptFocus } from "../parts/focus";
import { useScrollSigns } from "./scrollSigns";
import { formatName } from "../parts/format";
import { dismissAnnouncement, useAnnouncement } from "./announcement";
import { useIsLost } from "./connection";
import { fetchLater } from "./fetchLater";
import { usePlayQueue } from "./playQueue";
import { useAnswer, useServices } from "./queries";
import type { Settings } from "./settings";
import { applyTheme, readTheme, THEMES, type Theme } from "./theme";

const PLACES = [
  { path: "/", name: "Pipelines", icon: Workflow, below: ["/pipelines", "/new/pipeline"] },
  {
    path: "/calculations",
    name: "Calculations",
    icon: Calculator,
    below: ["/calculations", "/new/calculation"],
  },
  { path: "/datasets", name: "Datasets", icon: Table2 },
  { path: "/metrics", name: "Metrics", icon: ChartColumn, below: ["/metrics", "/new/metric"] },
  { path: "/executions", name: "Executions", icon: Activity },
  { path: "/groups", name: "Groups and access", icon: FolderTree },
  { path: "/runs", name: "Manifest runs", icon: Database },
  { path: "/sensors", name: "Sensors", icon: Radio },
  { path: "/audio", name: "Audio", icon: Music },
  { path: "/system", name: "System", icon: ServerCog },
] as const;

interface ShellProps {
  settings: Settings;
  onSignOut: () => void;
  onCaller: () => void;
  children: ReactNode;
}

let wasBack = false;
window.addEventListener("popstate", () => (wasBack = true));

/** A new screen begins at its top and with the focus; the browser restores the place of an old one. */
function useNewScreen() {
  const [location] = useLocation();
  const shown = useRef(location);
  const screen = useRef<HTMLElement>(null);
  useEffect(() => {
    if (shown.current === location) return;
    shown.current = location;
    const isBack = wasBack;
    wasBack = false;
    // A part of the screen that the address names begins with the focus instead.
    const named = document.getElementById(window.location.hash.slice(1));
    (named ?? screen.current)?.focus({ preventScroll: named === null });
    if (!isBack && !named) window.scrollTo(0, 0);
  }, [location]);
  return screen;
}

/** What is around every screen: the places, who is there, and whether the server is. */
export function Shell({ settings, onSignOut, onCaller, children }: ShellProps) {
  const screen = useNewScreen();
  useKeptFocus();
  useScrollSigns();
  return (
    <div className="shell">
      <a className="skip" href="#screen">
        To the screen
      </a>
      <header className="side">
        <Link className="brand" href="/">
          <Droplets size={22} aria-hidden /> <span>Penstock</span>
        </Link>
        <Places />
        <div className="side-end">
          <Identity onCaller={onCaller} />
          <ThemeChoice />
          {settings.graphiqlUrl ? <a href={settings.graphiqlUrl}>GraphiQL</a> : null}
          <button type="button" className="button quiet start" onClick={onSignOut}>
            <LogOut size={16} aria-hidden /> <span>Sign out</span>
          </button>
        </div>
      </header>
      <main className="screen" id="screen" ref={screen} tabIndex={-1}>
        {children}
      </main>
      <PlayerPlace />
      <Done />
      <ConnectionNote />
    </div>
  );
}

const Player = fetchLater(() => import("../parts/Player"), null);

/** The player, once there is something to play; it goes on over all screens. */
function PlayerPlace() {
  if (usePlayQueue().tracks.length === 0) return null;
  return <Player />;
}

function Places() {
  const [location] = useLocation();
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    // On a narrow window the places are a strip, and it becomes one when a window is narrowed.
    const show = () => {
      const here = list.current?.querySelector('[aria-current="page"]');
      here?.scrollIntoView({ inline: "center", block: "nearest" });
    };
    show();
    addEventListener("resize", show);
    return () => {
      removeEventListener("resize", show);
    };
  }, [location]);
  const isHere = (path: string, below: readonly string[] = [path]) =>
    location === path || below.some((one) => location.startsWith(one));
  return (
    <nav aria-label="Places">
      <ul
        className="places"
        ref={list}
        // A browser leaves what has the focus where it is, if any part of it is in sight.
        onFocus={({ target }) => target.scrollIntoView({ inline: "nearest", block: "nearest" })}
      >
        {PLACES.map(({ path, name, icon: Icon, ...more }) => (
          <li key={path}>
            <Link
              href={path}
              aria-current={
                isHere(path, "below" in more ? more.below : undefined) ? "page" : undefined
              }
            >
              <Icon size={18} aria-hidden /> {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Who the console acts as; on a development server, who else it can act as. */
function Identity({ onCaller }: { onCaller: () => void }) {
  const { api } = useServices();
  const { data } = useAnswer(Viewer, {});
  const { callers, actsAs } = api.session;
  if (callers.length > 1) {
    const choose = async (userId: string) => {
      await api.session.actAs(userId);
      onCaller();
    };
    return (
      <label className="field">
        <span>Act as</span>
        <select id="caller" value={actsAs} onChange={(event) => void choose(event.target.value)}>
          {callers.map(({ userId, roles }) => (
            <option key={userId} value={userId}>
              {roles}
            </option>
          ))}
        </select>
      </label>
    );
  }
  const roles = data?.viewer.roles.map(({ group, role }) => `${formatName(role)} of ${group}`);
  return (
    <p>
      <strong>{data?.viewer.userId}</strong>
      <br />
      <span className="muted">{roles?.join(", ")}</span>
    </p>
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useState(readTheme);
  const choose = (next: Theme) => {
    applyTheme(next);
    setTheme(next);
  };
  return (
    <label className="field">
      <span>Theme</span>
      <select value={theme} onChange={(event) => choose(event.target.value as Theme)}>
        {THEMES.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** What was done last, said and shown until another screen or a click takes it away. */
function Done() {
  // The address changes before this does, so what is done before a new screen stays on it.
  useLocation();
  const done = useAnnouncement();
  const words = done?.path === location.pathname ? done.words : "";
  return (
    <div className={words ? "note lost done row middle" : "visually-hidden"}>
      <p role="status" aria-label="Done" className="grow">
        {words}
      </p>
      {words ? (
        <button
          type="button"
          className="button quiet icon"
          aria-label="Dismiss"
          onClick={dismissAnnouncement}
        >
          <X size={16} aria-hidden />
        </button>
      ) : null}
    </div>
  );
}

function ConnectionNote() {
  if (!useIsLost()) return null;
  return (
    <p role="alert" className="note note-warn lost row middle">
      <PlugZap size={18} aria-hidden /> The server cannot be reached. What you see stays; the
      console goes on when it is back.
    </p>
  );
}
