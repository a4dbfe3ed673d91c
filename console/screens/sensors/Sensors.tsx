import { Trash2 } from "lucide-react";
import { useState } from "react";
import { useAnswer, usePages } from "../../app/queries";
import { SensorEntities, SensorServices } from "../../graphql/generated/sensors";
import { useAddress } from "../../parts/address";
import { Field } from "../../parts/fields";
import { JobList } from "../../parts/JobList";
import { Time } from "../../parts/marks";
import { Answered, Empty, Loading, More, Problem } from "../../parts/state";
import { useTitle } from "../../parts/title";
import { DeadLetters } from "./DeadLetters";
import { SampleChart, type SeriesPlace } from "./SampleChart";
import { SampleDeletion } from "./SampleDeletion";

/** What notifications brought: entities, their series, and what could not be kept. */
export default function Sensors() {
  useTitle("Sensors");
  const { search, change } = useAddress();
  const services = useAnswer(SensorServices, {});
  return (
    <>
      <header>
        <h1>Sensors</h1>
      </header>
      <Answered query={services} what="services">
        {({ ngsiServices: { nodes } }) => {
          const places = nodes.flatMap(({ name, servicePaths }) =>
            servicePaths.nodes.map(({ path }) => ({ service: name, path })),
          );
          const chosen =
            places.find(
              ({ service, path }) =>
                service === search.get("service") && path === search.get("path"),
            ) ?? places[0];
          if (!chosen) {
            return (
              <Empty title="No notifications yet">
                <p>
                  Subscribe a context broker to <code>/v2/notify</code> of this server.
                </p>
              </Empty>
            );
          }
          return (
            <>
              <Field label="Service and path">
                <select
                  value={places.indexOf(chosen)}
                  onChange={(event) => {
                    const next = places[Number(event.target.value)];
                    if (next) change({ ...next, entity: null, type: null, attribute: null });
                  }}
                >
                  {places.map(({ service, path }, index) => (
                    <option key={`${service} ${path}`} value={index}>
                      {service || "(default)"} {path}
                    </option>
                  ))}
                </select>
              </Field>
              <Entities key={`${chosen.service} ${chosen.path}`} {...chosen} />
              <JobList group={null} kind="DELETE_SAMPLES" />
              <DeadLetters {...chosen} />
            </>
          );
        }}
      </Answered>
    </>
  );
}

function Entities({ service, path }: { service: string; path: string }) {
  const { search, change } = useAddress();
  const pages = usePages(
    SensorEntities,
    { service, path },
    (page) => page.ngsiService?.servicePath?.entities,
  );
  if (!pages.nodes)
    return pages.error ? <Problem error={pages.error} /> : <Loading what="entities" />;
  const [entity, type, attribute] = ["entity", "type", "attribute"].map((name) => search.get(name));
  return (
    <section className="stack tight" aria-label="Entities">
      <h2>Entities</h2>
      {entity && type && attribute ? (
        <ChosenSeries
          key={`${entity} ${type} ${attribute}`}
          place={{ service, path, entity, type, attribute }}
        />
      ) : null}
      <div className="card flush" tabIndex={0} role="region" aria-label="List of entities">
        <table>
          <thead>
            <tr>
              <th scope="col">Entity</th>
              <th scope="col">Attribute</th>
              <th scope="col">Latest</th>
              <th scope="col">At</th>
            </tr>
          </thead>
          <tbody>
            {pages.nodes.flatMap(({ entityId, entityType, attributes }) =>
              attributes.nodes.map(({ name, latest }) => (
                <tr key={`${entityId} ${entityType} ${name}`}>
                  <td className="long">
                    {entityId} <span className="small muted">{entityType}</span>
                  </td>
                  <td>
                    <button
                      type="button"
                      className="button quiet"
                      aria-label={`Chart of ${name} of ${entityId}`}
                      onClick={() =>
                        change({ entity: entityId, type: entityType, attribute: name })
                      }
                    >
                      {name}
                    </button>
                  </td>
                  <td>{latest?.text}</td>
                  <td>
                    <Time at={latest?.time} />
                  </td>
                </tr>
              )),
            )}
          </tbody>
        </table>
      </div>
      <More pages={pages} what="entities" />
    </section>
  );
}

/** The chart of a series, and the way to delete the samples of its entity. */
function ChosenSeries({ place }: { place: SeriesPlace }) {
  const [isLeaving, setLeaving] = useState(false);
  return (
    <>
      <SampleChart place={place} />
      <p>
        <button type="button" className="button danger" onClick={() => setLeaving(true)}>
          <Trash2 size={16} aria-hidden /> Delete samples
        </button>
      </p>
      {isLeaving ? <SampleDeletion place={place} onClose={() => setLeaving(false)} /> : null}
    </>
  );
}
