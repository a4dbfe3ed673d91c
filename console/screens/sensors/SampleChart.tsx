import { useState } from "react";
import { useAnswer, useLive } from "../../app/queries";
import { SensorSamples, SensorSeries } from "../../graphql/generated/sensors";
import { Axes } from "../../parts/Axes";
import { formatNumber, formatTime } from "../../parts/format";
import { Answered } from "../../parts/state";

interface Sample {
  time: string;
  text?: string | null;
  number?: string | null;
}

export interface SeriesPlace {
  service: string;
  path: string;
  entity: string;
  type: string;
  attribute: string;
}

const WIDTH = 1000;
const HEIGHT = 220;

/** The last samples of an attribute as a line, to which new ones are added as they come. */
export function SampleChart({ place }: { place: SeriesPlace }) {
  const query = useAnswer(SensorSeries, { ...place });
  const [live, setLive] = useState<readonly Sample[]>([]);
  useLive(SensorSamples, { ...place }, ({ ngsiSamples }) =>
    setLive((all) => [...all, ngsiSamples]),
  );
  return (
    <Answered query={query} what="the series">
      {({ ngsiService }) => {
        const read = ngsiService?.servicePath?.entity?.attribute?.series.nodes ?? [];
        return <Line title={place} samples={joinSamples(read, live)} />;
      }}
    </Answered>
  );
}

/** Samples in the order of time, each once: what was read newest first, and what came since. */
export function joinSamples(read: readonly Sample[], live: readonly Sample[]): Sample[] {
  const byTime = new Map([...read, ...live].map((sample) => [sample.time, sample]));
  return [...byTime.values()].sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

function Line({ title, samples }: { title: SeriesPlace; samples: readonly Sample[] }) {
  const points = samples.flatMap(({ time, number }) =>
    number == null ? [] : [{ at: Date.parse(time), value: Number(number) }],
  );
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return <p className="muted">No numbers to draw.</p>;
  const values = points.map(({ value }) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const x = (at: number) =>
    last.at === first.at ? 0 : ((at - first.at) / (last.at - first.at)) * WIDTH;
  const y = (value: number) =>
    most === least ? HEIGHT / 2 : HEIGHT - ((value - least) / (most - least)) * HEIGHT;
  const path = points
    .map(({ at, value }, index) => `${index ? "L" : "M"}${x(at)} ${y(value)}`)
    .join("");
  const words = `${title.attribute} of ${title.entity}: ${points.length} samples, the last ${formatNumber(last.value)}`;
  return (
    <figure className="card stack tight">
      <figcaption>
        <strong>
          {title.attribute} of {title.entity}
        </strong>{" "}
        <span className="muted" aria-live="polite">
          {points.length} {points.length === 1 ? "sample" : "samples"}, now{" "}
          {formatNumber(last.value)}, from {formatNumber(least)} to {formatNumber(most)}
        </span>
      </figcaption>
      <Axes
        values={most === least ? [most] : [most, (most + least) / 2, least]}
        names={[first, last].slice(0, points.length).map(({ at }, place) => ({
          at: place,
          text: formatTime(new Date(at).toISOString()),
        }))}
      >
        <svg
          className="bars line-chart"
          role="img"
          aria-label={words}
          viewBox={`0 -4 ${WIDTH} ${HEIGHT + 8}`}
          preserveAspectRatio="none"
          height={HEIGHT}
        >
          {points.length === 1 ? (
            <line x1={0} x2={WIDTH} y1={y(first.value)} y2={y(first.value)} />
          ) : null}
          <path d={path} />
        </svg>
      </Axes>
    </figure>
  );
}
