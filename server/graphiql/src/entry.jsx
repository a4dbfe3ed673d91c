import "./styles.js";
import "./workers.js";
import { explorerPlugin } from "@graphiql/plugin-explorer";
import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import { createRoot } from "react-dom/client";
import { createFetcher } from "./fetcher.js";
import { Identity } from "./identity.jsx";
import { scalars } from "./scalars.js";
import { Session, takeCode } from "./session.js";
import { SignIn } from "./signin.jsx";
import { exampleTabs, forgetHeadersByDefault, hasTabs, initialEditors } from "./tabs.js";
import "graphiql/style.css";
import "@graphiql/plugin-explorer/style.css";
import "./page.css";

const settings = JSON.parse(document.getElementById("penstock").textContent);
const session = new Session(settings.sessionUrl);
const code = takeCode();
const wasRefused = code !== null && !(await session.open(code));
await session.token();

forgetHeadersByDefault(localStorage);
const fetcher = createFetcher(settings, session);
const findsIds = session.isOpen && !hasTabs(localStorage);
const tabs = await exampleTabs(settings.examples, findsIds ? fetcher : null);

createRoot(document.getElementById("graphiql")).render(
  <>
    {session.isOpen ? null : <SignIn session={session} wasRefused={wasRefused} />}
    <GraphiQL
      fetcher={fetcher}
      plugins={[HISTORY_PLUGIN, explorerPlugin()]}
      customScalarSchemas={scalars}
      defaultTabs={tabs}
      defaultEditorToolsVisibility="variables"
      shouldPersistHeaders
      {...initialEditors(localStorage, tabs)}
    >
      <GraphiQL.Logo>
        <Identity session={session} />
        <span>Penstock</span>
      </GraphiQL.Logo>
    </GraphiQL>
  </>,
);
