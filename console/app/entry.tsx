import { createRoot } from "react-dom/client";
import { App } from "./App";
import { findSession } from "./findSession";
import { readSettings } from "./settings";
import { applyTheme, readTheme } from "./theme";
import "./style.css";

const settings = readSettings();
document.documentElement.dataset["base"] = settings.base;
applyTheme(readTheme());

const found = await findSession(settings).catch((error: unknown) => ({
  session: null,
  problem: `Signing in failed: ${error instanceof Error ? error.message : String(error)}`,
}));
const root = document.getElementById("console");
if (root) createRoot(root).render(<App settings={settings} found={found} />);
