import "./workers.js";
import { explorerPlugin } from "@graphiql/plugin-explorer";
import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import { createRoot } from "react-dom/client";
import { createFetcher } from "./fetcher.js";
import { scalars } from "./scalars.js";
import { Session, takeCode } from "./session.js";
import { SignIn } from "./signin.jsx";
import { exampleTabs, forgetHeadersByDefault, initialEditors } from "./tabs.js";
import "graphiql/style.css";
import "@graphiql/plugin-explorer/style.css";
import "./page.css";

const settings = JSON.parse(document.getElementById("penstock").textContent);
const session = new Session(settings.sessionUrl);
const code = takeCode();
const wasRefused = code !== null && !(await session.open(code));
await session.token();

forgetHeadersByDefault(localStorage);
const tabs = exampleTabs(settings.examples);

createRoot(document.getElementById("graphiql")).render(
  <>
    {session.isOpen ? null : <SignIn session={session} wasRefused={wasRefused} />}
    <GraphiQL
      fetcher={createFetcher(settings, session)}
      plugins={[HISTORY_PLUGIN, explorerPlugin()]}
      customScalarSchemas={scalars}
      defaultTabs={tabs}
      defaultEditorToolsVisibility="variables"
      shouldPersistHeaders
      {...initialEditors(localStorage, tabs)}
    >
      <GraphiQL.Logo>Penstock</GraphiQL.Logo>
    </GraphiQL>
  </>,
);
