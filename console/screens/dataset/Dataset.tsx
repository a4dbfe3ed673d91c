import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useAnswer } from "../../app/queries";
import { DatasetDetails, DatasetDiff } from "../../graphql/generated/dataset";
import { useAddress } from "../../parts/address";
import { AsAt, missingAsAt } from "../../parts/AsAt";
import { OfRole } from "../../parts/denial";
import { nameFields } from "../../parts/csv";
import { fileOf, readFileStart } from "../../parts/fileStart";
import { formatBytes, formatName } from "../../parts/format";
import { FollowedJob } from "../../parts/JobList";
import { Digits, EditLink } from "../../parts/marks";
import { ResourceHead } from "../../parts/ResourceHead";
import { RowsTable } from "../../parts/RowsTable";
import { Answered } from "../../parts/state";
import { useTitle } from "../../parts/title";
import { UsedBy } from "../../parts/UsedBy";
import { VersionDifference } from "../../parts/VersionDifference";
import { VersionTable } from "../../parts/VersionTable";

/** A reference dataset: its columns, its versions and its file. */
export default function Dataset({ id }: { id: string }) {
  const { search } = useAddress();
  const asAt = search.get("at");
  const job = search.get("job");
  const query = useAnswer(DatasetDetails, { id, asAt }, { keep: true });
  useTitle(query.data?.referenceDataset?.name);
  const missing = missingAsAt("dataset", asAt);
  return (
    <Answered query={query} what="the dataset" missing={missing}>
      {({ referenceDataset: dataset }) =>
        dataset ? (
          <>
            <ResourceHead list={["/datasets", "Datasets"]} resource={dataset}>
              <div className="row">
                <OfRole role="CONTRIBUTOR" at={dataset.owner}>
                  <EditLink kind="datasets" id={id} />
                </OfRole>
                {dataset.download.url ? (
                  <a className="button" href={dataset.download.url} download>
                    <Download size={16} aria-hidden /> Download CSV
                  </a>
                ) : null}
              </div>
            </ResourceHead>
            {job === null ? null : <FollowedJob id={job} />}
            <AsAt key="at" />
            <p>
              <Digits value={dataset.content.rowCount} /> rows,{" "}
              {formatBytes(dataset.content.sizeBytes)}, found by{" "}
              <code>{dataset.content.keyColumns.join(", ")}</code>
            </p>
            <div className="card flush" tabIndex={0} role="group" aria-label="List of columns">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Column</th>
                    <th scope="col">Type</th>
                    <th scope="col">Description</th>
                  </tr>
                </thead>
                <tbody>
                  {dataset.content.columns.map(({ name, type, description }) => (
                    <tr key={name}>
                      <td>
                        <code>{name}</code>
                      </td>
                      <td>{formatName(type)}</td>
                      <td>{description}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            {dataset.download.url ? <FirstRows url={dataset.download.url} /> : null}
            <UsedBy id={id} />
            <VersionDifference
              id={id}
              newest={dataset.version}
              operation={DatasetDiff}
              changesOf={({ referenceDataset: found }) => found?.diff}
            />
            <section className="stack tight" aria-label="Versions">
              <h2>Versions</h2>
              <VersionTable
                id={id}
                owner={dataset.owner}
                newest={dataset.version}
                versions={dataset.versions.nodes}
              />
            </section>
          </>
        ) : (
          missing
        )
      }
    </Answered>
  );
}

const ROWS = 20;

/** The first rows, read by a range of the file. */
function FirstRows({ url }: { url: string }) {
  const query = useQuery({
    queryKey: ["dataset", fileOf(url)],
    queryFn: () => readFileStart(url, ROWS + 1),
  });
  return (
    <section className="stack tight" aria-label="First rows">
      <h2>The first rows</h2>
      <Answered query={query} what="the first rows">
        {([header = [], ...rows]) => <RowsTable rows={nameFields(header, rows)} />}
      </Answered>
    </section>
  );
}
