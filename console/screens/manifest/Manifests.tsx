import { useAnswer, usePages } from "../../app/queries";
import { ManifestList } from "../../graphql/generated/manifest";
import { Viewer } from "../../graphql/generated/shell";
import { useAddress } from "../../parts/address";
import { GroupField } from "../../parts/fields";
import { formatNumber } from "../../parts/format";
import { Empty, Loading, More, Problem } from "../../parts/state";
import { useTitle } from "../../parts/title";
import { RunLists } from "./RunLists";

/** The manifests of a group, and the runs of the chosen one: the stuck ones first. */
export default function Manifests() {
  useTitle("Manifest runs");
  const { search, change } = useAddress();
  const viewer = useAnswer(Viewer, {});
  const group = search.get("group") ?? viewer.data?.viewer.defaultGroup ?? null;
  const pages = usePages(ManifestList, { group }, (page) => page.manifests, {
    enabled: viewer.data !== undefined,
  });
  const manifest = search.get("manifest") ?? pages.nodes?.[0]?.name ?? null;
  return (
    <>
      <header>
        <h1>Manifest runs</h1>
      </header>
      <search className="row">
        <GroupField
          value={group ?? ""}
          onChange={(path) =>
            change({ group: path || null, manifest: null, state: null, tag: null, batch: null })
          }
        />
      </search>
      {pages.error && !pages.nodes ? <Problem error={pages.error} /> : null}
      {pages.nodes || pages.error ? null : <Loading what="manifests" />}
      {pages.nodes?.length === 0 ? (
        <Empty title="No manifests in this group">
          <p>A loader makes one when it discovers its first run.</p>
        </Empty>
      ) : null}
      {pages.nodes && manifest ? (
        <div className="split">
          <nav className="card facet" aria-label="Manifests">
            <ul className="tree">
              {pages.nodes.map(({ name, runCount }) => (
                <li key={name}>
                  <button
                    type="button"
                    className="choose button quiet"
                    aria-pressed={name === manifest}
                    onClick={() => change({ manifest: name, state: null, tag: null, batch: null })}
                  >
                    <span>{name}</span>
                    <span className="muted">{formatNumber(runCount)}</span>
                  </button>
                </li>
              ))}
            </ul>
            <More pages={pages} what="manifests" />
          </nav>
          <RunLists
            key={`${group ?? ""} ${manifest}`}
            group={group}
            manifest={manifest}
            rules={pages.nodes.find(({ name }) => name === manifest)}
          />
        </div>
      ) : null}
    </>
  );
}
