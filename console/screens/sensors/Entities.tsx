import { Trash2 } from "lucide-react";
import { useState } from "react";
import { usePages } from "../../app/queries";
import { EntityAttributes, SensorEntities } from "../../graphql/generated/sensors";
import { useAddress } from "../../parts/address";
import { Time } from "../../parts/marks";
import { More, PendingList } from "../../parts/state";
import { SampleChart, type SeriesPlace } from "./SampleChart";
import { SampleDeletion } from "./SampleDeletion";

interface PathPlace {
  service: string;
  path: string;
}

/** The entities of a path. Each shows its attributes when it is opened: the latest sample of each is a query. */
export function Entities({ service, path }: PathPlace) {
  const { search } = useAddress();
  const pages = usePages(
    SensorEntities,
    { service, path },
    (page) => page.ngsiService?.servicePath?.entities,
  );
  if (!pages.nodes) return <PendingList pages={pages} what="entities" />;
  const [entity, type, attribute] = ["entity", "type", "attribute"].map((name) => search.get(name));
  return (
    <section className="stack tight" aria-label="Entities">
      <h2>Entities</h2>
      {entity && type != null && attribute ? (
        <ChosenSeries
          key={`${entity} ${type} ${attribute}`}
          place={{ service, path, entity, type, attribute }}
        />
      ) : null}
      <ul className="cards" aria-label="List of entities">
        {pages.nodes.map(({ entityId, entityType }) => (
          <EntityCard
            key={`${entityId} ${entityType}`}
            place={{ service, path, entity: entityId, type: entityType }}
            isChosen={entityId === entity && entityType === type}
          />
        ))}
      </ul>
      <More pages={pages} what="entities" />
    </section>
  );
}

type EntityPlace = Omit<SeriesPlace, "attribute">;

function EntityCard({ place, isChosen }: { place: EntityPlace; isChosen: boolean }) {
  const [isOpen, setOpen] = useState(isChosen);
  return (
    <li>
      <details
        className="card flush"
        open={isOpen}
        onToggle={(event) => setOpen(event.currentTarget.open)}
      >
        <summary>
          <bdi>{place.entity}</bdi>{" "}
          <span className="small muted">
            <bdi>{place.type}</bdi>
          </span>
        </summary>
        {isOpen ? <Attributes place={place} /> : null}
      </details>
    </li>
  );
}

/** The attributes of an entity with their latest samples. */
function Attributes({ place }: { place: EntityPlace }) {
  const { change } = useAddress();
  const pages = usePages(
    EntityAttributes,
    { ...place },
    (page) => page.ngsiService?.servicePath?.entity?.attributes,
  );
  if (!pages.nodes) return <PendingList pages={pages} what="attributes" />;
  return (
    <>
      <table>
        <thead>
          <tr>
            <th scope="col">Attribute</th>
            <th scope="col">Latest</th>
            <th scope="col">At</th>
          </tr>
        </thead>
        <tbody>
          {pages.nodes.map(({ name, latest }) => (
            <tr key={name}>
              <td className="long">
                <button
                  type="button"
                  className="button quiet"
                  aria-label={`Chart of ${name} of ${place.entity}`}
                  onClick={() =>
                    change({ entity: place.entity, type: place.type, attribute: name })
                  }
                >
                  {name}
                </button>
              </td>
              <td className="long">{latest?.text}</td>
              <td>
                <Time at={latest?.time} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <More pages={pages} what="attributes" />
    </>
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
