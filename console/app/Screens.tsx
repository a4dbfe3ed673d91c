import { Component, lazy, type ReactNode, Suspense } from "react";
import { Route, Switch, useLocation } from "wouter";
import { Empty, Loading, Problem } from "../parts/state";
import type { Settings } from "./settings";
import { Shell } from "./Shell";

const Catalogue = lazy(() => import("../screens/catalogue/Catalogue"));
const Pipeline = lazy(() => import("../screens/pipeline/Pipeline"));
const Rows = lazy(() => import("../screens/rows/Rows"));
const RunFile = lazy(() => import("../screens/run-file/RunFile"));
const Executions = lazy(() => import("../screens/executions/Executions"));
const Execution = lazy(() => import("../screens/execution/Execution"));
const Calculation = lazy(() => import("../screens/calculation/Calculation"));
const Dataset = lazy(() => import("../screens/dataset/Dataset"));
const Metric = lazy(() => import("../screens/metric/Metric"));
const Editor = lazy(() => import("../screens/editor/Editor"));
const Groups = lazy(() => import("../screens/groups/Groups"));
const Manifests = lazy(() => import("../screens/manifest/Manifests"));
const Sensors = lazy(() => import("../screens/sensors/Sensors"));
const Audio = lazy(() => import("../screens/audio/Audio"));
const System = lazy(() => import("../screens/system/System"));

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
        <Suspense fallback={<Loading what="the screen" />}>
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
        </Suspense>
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
