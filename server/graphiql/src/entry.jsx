import "./workers.js";
import { explorerPlugin } from "@graphiql/plugin-explorer";
import { GraphiQL, HISTORY_PLUGIN } from "graphiql";
import { createRoot } from "react-dom/client";
import { outdatedTokens, renewSavedHeaders } from "./devtoken.js";
import { createFetcher } from "./fetcher.js";
import { exampleTabs, forgetHeadersByDefault, initialEditors } from "./tabs.js";
import "graphiql/style.css";
import "@graphiql/plugin-explorer/style.css";
import "./page.css";

const settings = JSON.parse(document.getElementById("penstock").textContent);
const { devToken, examples } = settings;

const outdated = outdatedTokens(localStorage, devToken);
renewSavedHeaders(localStorage, outdated, devToken);
forgetHeadersByDefault(localStorage);

const headers = devToken
  ? JSON.stringify({ Authorization: `Bearer ${devToken}` }, null, 2)
  : undefined;
const tabs = exampleTabs(examples, headers);

createRoot(document.getElementById("graphiql")).render(
  <GraphiQL
    fetcher={createFetcher(settings, outdated)}
    plugins={[HISTORY_PLUGIN, explorerPlugin()]}
    defaultTabs={tabs}
    defaultHeaders={headers}
    defaultEditorToolsVisibility="variables"
    shouldPersistHeaders
    {...initialEditors(localStorage, tabs)}
  >
    <GraphiQL.Logo>Penstock</GraphiQL.Logo>
  </GraphiQL>,
);
