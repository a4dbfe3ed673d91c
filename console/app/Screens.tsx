import { Component, type ReactNode } from "react";
import { Route, Switch, useLocation } from "wouter";
import { Empty, Loading, Problem } from "../parts/state";
import { fetchLater } from "./fetchLater";
import type { Settings } from "./settings";
import { Shell } from "./Shell";

const LOADING = <Loading what="the screen" />;

const Catalogue = fetchLater(() => import("../screens/catalogue/Catalogue"), LOADING);
const Pipeline = fetchLater(() => import("../screens/pipeline/Pipeline"), LOADING);
const Rows = fetchLater(() => import("../screens/rows/Rows"), LOADING);
const RunFile = fetchLater(() => import("../screens/run-file/RunFile"), LOADING);
const Executions = fetchLater(() => import("../screens/executions/Executions"), LOADING);
const Execution = fetchLater(() => import("../screens/execution/Execution"), LOADING);
const Calculation = fetchLater(() => import("../screens/calculation/Calculation"), LOADING);
const Dataset = fetchLater(() => import("../screens/dataset/Dataset"), LOADING);
const Metric = fetchLater(() => import("../screens/metric/Metric"), LOADING);
const Editor = fetchLater(() => import("../screens/editor/Editor"), LOADING);
const Groups = fetchLater(() => import("../screens/groups/Groups"), LOADING);
const Manifests = fetchLater(() => import("../screens/manifest/Manifests"), LOADING);
const Sensors = fetchLater(() => import("../screens/sensors/Sensors"), LOADING);
const Audio = fetchLater(() => import("../screens/audio/Audio"), LOADING);
const System = fetchLater(() => import("../screens/system/System"), LOADING);

/** The screens by their paths. */
function paths(): readonly (readonly [string, (id: string) => ReactNode])[] {
  return [
    ["/", () => <Catalogue kind="PIPELINE" />],
    ["/calculations", () => <Catalogue kind="CALCULATION" />],
    ["/datasets", () => <Catalogue kind="REFERENCE_DATASET" />],
    ["/metrics", () => <Catalogue kind="METRIC" />],
    ["/pipelines/:id", (id) => <Pipeline id={id} />],
    ["/pipelines/:id/run", (id) => <RunFile id={id} />],
    ["/pipelines/:id/rows", (id) => <Rows id={id} />],
    ["/calculations/:id", (id) => <Calculation id={id} />],
    ["/datasets/:id", (id) => <Dataset id={id} />],
    ["/metrics/:id", (id) => <Metric id={id} />],
    ["/executions", () => <Executions />],
    ["/executions/:id", (id) => <Execution id={id} />],
    ["/new/pipeline", () => <Editor key="new pipeline" kind="pipeline" id={null} />],
    ["/new/calculation", () => <Editor key="new calculation" kind="calculation" id={null} />],
    ["/new/metric", () => <Editor key="new metric" kind="metric" id={null} />],
    ["/new/dataset", () => <Editor key="new dataset" kind="dataset" id={null} />],
    ["/pipelines/:id/edit", (id) => <Editor key={id} kind="pipeline" id={id} />],
    ["/calculations/:id/edit", (id) => <Editor key={id} kind="calculation" id={id} />],
    ["/metrics/:id/edit", (id) => <Editor key={id} kind="metric" id={id} />],
    ["/datasets/:id/edit", (id) => <Editor key={id} kind="dataset" id={id} />],
    ["/groups", () => <Groups />],
    ["/runs", () => <Manifests />],
    ["/sensors", () => <Sensors />],
    ["/audio", () => <Audio />],
    ["/system", () => <System />],
  ];
}

interface ScreensProps {
  settings: Settings;
  onSignOut: () => void;
  onCaller: () => void;
}

export function Screens({ settings, onSignOut, onCaller }: ScreensProps) {
  const [location] = useLocation();
  return (
    <Shell settings={settings} onSignOut={onSignOut} onCaller={onCaller}>
      <ScreenBoundary key={location}>
        <Switch>
          {paths().map(([path, screen]) => (
            <Route key={path} path={path}>
              {(parameters: Record<string, string | undefined>) =>
                screen(decodeURIComponent(parameters["id"] ?? ""))
              }
            </Route>
          ))}
          <Route>
            <Empty title="There is no such screen" isScreen>
              <p>The places beside this one lead to all that there are.</p>
            </Empty>
          </Route>
        </Switch>
      </ScreenBoundary>
    </Shell>
  );
}

/** Shows a failure of a screen in place of the screen; the shell stays. */
class ScreenBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return <Problem error={this.state.error} onRetry={() => location.reload()} />;
  }
}
