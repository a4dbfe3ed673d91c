import { usePages } from "../../app/queries";
import { SensorPaths, SensorServices } from "../../graphql/generated/sensors";
import { useAddress } from "../../parts/address";
import { ChoiceField } from "../../parts/fields";
import { JobList } from "../../parts/JobList";
import { Empty, More, type Paged, PendingList } from "../../parts/state";
import { useTitle } from "../../parts/title";
import { DeadLetters } from "./DeadLetters";
import { Entities } from "./Entities";

/** What notifications brought: entities, their series, and what could not be kept. */
export default function Sensors() {
  useTitle("Sensors");
  const { search } = useAddress();
  const services = usePages(SensorServices, {}, (page) => page.ngsiServices);
  const names = services.nodes?.map(({ name }) => name);
  const asked = search.get("service");
  const service = asked !== null && names?.includes(asked) ? asked : names?.[0];
  return (
    <>
      <header>
        <h1>Sensors</h1>
      </header>
      {names === undefined ? (
        <PendingList pages={services} what="services" />
      ) : service === undefined ? (
        <Empty title="No notifications yet">
          <p>
            Subscribe a context broker to <code>/v2/notify</code> of this server.
          </p>
        </Empty>
      ) : (
        <>
          {names.length > 1 ? (
            <Choice
              label="Service"
              name="service"
              values={names}
              value={service}
              pages={services}
              what="services"
            />
          ) : null}
          <Paths key={service} service={service} />
        </>
      )}
    </>
  );
}

/** The paths of a service, and what one of them has. */
function Paths({ service }: { service: string }) {
  const { search } = useAddress();
  const pages = usePages(SensorPaths, { service }, (page) => page.ngsiService?.servicePaths);
  if (!pages.nodes) {
    return <PendingList pages={pages} what="paths" />;
  }
  const paths = pages.nodes.map(({ path }) => path);
  const path = paths.find((one) => one === search.get("path")) ?? paths[0];
  if (path === undefined) return <p className="muted">You see no path of this service.</p>;
  return (
    <>
      <Choice
        label={`Path of ${service || "the default service"}`}
        name="path"
        values={paths}
        value={path}
        pages={pages}
        what="paths"
      />
      <Entities key={path} service={service} path={path} />
      <JobList group={null} kind="DELETE_SAMPLES" />
      <DeadLetters service={service} path={path} />
    </>
  );
}

interface ChoiceProps {
  label: string;
  /** The part of the address that it changes. */
  name: "service" | "path";
  values: readonly string[];
  value: string;
  pages: Paged;
  what: string;
}

/** A choice of a place; what was chosen below it is forgotten. */
function Choice({ label, name, values, value, pages, what }: ChoiceProps) {
  const { change } = useAddress();
  const below = { entity: null, type: null, attribute: null };
  return (
    <div className="row">
      <ChoiceField
        label={label}
        className="grow"
        value={value}
        choices={values.map((one) => [one, one || "(default)"])}
        onChange={(chosen) =>
          change({ ...below, ...(name === "service" ? { path: null } : {}), [name]: chosen })
        }
      />
      <More pages={pages} what={what} />
    </div>
  );
}
