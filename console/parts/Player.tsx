import { ListMusic, Pause, Play, SkipBack, SkipForward, X } from "lucide-react";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import {
  dropFromQueue,
  jumpTo,
  playTracks,
  type PlayQueue,
  stepQueue,
  usePlayQueue,
} from "../app/playQueue";
import { useServices } from "../app/queries";
import { TrackUrl } from "../graphql/generated/player";
import { formatLength } from "./format";

/** A URL is renewed so many milliseconds before it ends. */
const MARGIN = 30_000;

/** Plays the queue over all screens, also by the keyboard's media keys. */
export default function Player() {
  const { tracks, index } = usePlayQueue();
  const { api } = useServices();
  const audio = useRef<HTMLAudioElement>(null);
  const [isPlaying, setPlaying] = useState(false);
  const [position, setPosition] = useState({ at: 0, of: 0 });
  const [problem, setProblem] = useState<string | null>(null);
  const track = tracks[index];
  // Who pauses while the next track is still asked for wants no music from it either.
  const isWanted = useRef(true);
  const [isQueueShown, setQueueShown] = useState(false);
  const { id, key } = track ?? {};

  /** Load the track's URL. Before it ends it is renewed: a pause and the position stay. */
  const load = useEffectEvent(async (trackId: string, isRenewal: boolean, signal: AbortSignal) => {
    const { audio: found } = await api.run(TrackUrl, { id: trackId }, signal);
    const element = audio.current;
    if (!element || signal.aborted) return null;
    if (!found?.streamUrl) {
      setProblem("The file of this track cannot be read.");
      return null;
    }
    setProblem(null);
    const { currentTime, paused } = element;
    element.src = found.streamUrl.url;
    element.currentTime = isRenewal ? currentTime : 0;
    if (isRenewal ? !paused : isWanted.current) await element.play().catch(() => setPlaying(false));
    return Date.parse(found.streamUrl.expiresAt);
  });

  useEffect(() => {
    if (!id) return undefined;
    isWanted.current = true;
    const stop = new AbortController();
    let timer: number | undefined;
    const follow = async (isRenewal: boolean) => {
      const endsAt = await load(id, isRenewal, stop.signal).catch(() => null);
      if (endsAt === null) return;
      // A reader's clock may be ahead of the server's: then every URL seems to have ended.
      const wait = Math.max(endsAt - Date.now() - MARGIN, MARGIN);
      timer = window.setTimeout(() => void follow(true), wait);
    };
    void follow(false);
    return () => {
      stop.abort();
      window.clearTimeout(timer);
    };
  }, [id, key]);

  useEffect(() => {
    if (!track || !("mediaSession" in navigator)) return;
    const { title, artist, cover } = track;
    navigator.mediaSession.metadata = new MediaMetadata({
      title,
      artist,
      artwork: cover ? [{ src: cover }] : [],
    });
    navigator.mediaSession.setActionHandler("nexttrack", () => stepQueue(1));
    navigator.mediaSession.setActionHandler("previoustrack", () => stepQueue(-1));
  }, [track]);

  if (!track) return null;
  const toggle = () => {
    const element = audio.current;
    if (!element) return;
    isWanted.current = element.paused;
    if (element.paused) void element.play();
    else element.pause();
  };
  const Icon = isPlaying ? Pause : Play;
  return (
    <section className="player" aria-label="Player">
      <audio
        ref={audio}
        onPlay={() => setPlaying(true)}
        onPause={() => setPlaying(false)}
        onEnded={() => stepQueue(1)}
        onTimeUpdate={(event) => {
          const { currentTime, duration } = event.currentTarget;
          setPosition({ at: currentTime, of: Number.isFinite(duration) ? duration : 0 });
        }}
      />
      {track.cover ? <img className="cover" src={track.cover} alt="" /> : null}
      <span className="grow">
        <strong>{track.title}</strong>
        <br />
        <span className="small muted">
          {problem ?? track.artist} · {index + 1} of {tracks.length}
        </span>
      </span>
      <span className="row middle">
        <StepButton name="Track before" Icon={SkipBack} onClick={() => stepQueue(-1)} />
        <StepButton name={isPlaying ? "Pause" : "Play"} Icon={Icon} onClick={toggle} />
        <StepButton name="Next track" Icon={SkipForward} onClick={() => stepQueue(1)} />
      </span>
      <label className="row middle grow">
        <span className="visually-hidden">Position</span>
        <input
          className="grow"
          type="range"
          min={0}
          max={position.of || 1}
          step="any"
          value={position.at}
          onChange={(event) => {
            if (audio.current) audio.current.currentTime = Number(event.target.value);
          }}
        />
        <span className="small">
          {formatLength(position.at * 1000)} of {formatLength(position.of * 1000)}
        </span>
      </label>
      <button
        type="button"
        className="button quiet icon"
        aria-label="Queue"
        aria-expanded={isQueueShown}
        onClick={() => setQueueShown(!isQueueShown)}
      >
        <ListMusic size={20} aria-hidden />
      </button>
      <StepButton name="Close the player" Icon={X} onClick={() => playTracks([])} />
      {isQueueShown ? <Queue tracks={tracks} index={index} /> : null}
    </section>
  );
}

/** What was played and what comes next; each can be played now, or taken out. */
function Queue({ tracks, index }: PlayQueue) {
  return (
    <ol className="queue" aria-label="Queue">
      {tracks.map(({ key, title, artist }, place) => (
        <li key={key} className={`row middle ${place === index ? "chosen" : ""}`}>
          <button
            type="button"
            className="button quiet start grow"
            aria-current={place === index}
            onClick={() => jumpTo(place)}
          >
            {title} <span className="small muted">{artist}</span>
          </button>
          <StepButton
            name={`Take ${title} out of the queue`}
            Icon={X}
            onClick={() => dropFromQueue(place)}
          />
        </li>
      ))}
    </ol>
  );
}

interface StepButtonProps {
  name: string;
  Icon: typeof Play;
  onClick: () => void;
}

function StepButton({ name, Icon, onClick }: StepButtonProps) {
  return (
    <button type="button" className="button quiet icon" aria-label={name} onClick={onClick}>
      <Icon size={20} aria-hidden />
    </button>
  );
}
