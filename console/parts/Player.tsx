import { Pause, Play, SkipBack, SkipForward, X } from "lucide-react";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { playTracks, stepQueue, usePlayQueue } from "../app/playQueue";
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
  const id = track?.id;

  /** Load the track's URL, at a position; it is loaded again before the URL ends. */
  const load = useEffectEvent(async (trackId: string, at: number, signal: AbortSignal) => {
    const { audio: found } = await api.run(TrackUrl, { id: trackId }, signal);
    const element = audio.current;
    if (!element || signal.aborted) return null;
    if (!found?.streamUrl) {
      setProblem("The file of this track cannot be read.");
      return null;
    }
    setProblem(null);
    element.src = found.streamUrl.url;
    element.currentTime = at;
    await element.play().catch(() => setPlaying(false));
    return Date.parse(found.streamUrl.expiresAt);
  });

  useEffect(() => {
    if (!id) return undefined;
    const stop = new AbortController();
    let timer: number | undefined;
    const begin = async (at: number) => {
      const endsAt = await load(id, at, stop.signal).catch(() => null);
      if (endsAt === null) return;
      const wait = Math.max(endsAt - Date.now() - MARGIN, 1_000);
      timer = window.setTimeout(() => void begin(audio.current?.currentTime ?? 0), wait);
    };
    void begin(0);
    return () => {
      stop.abort();
      window.clearTimeout(timer);
    };
  }, [id, index]);

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
      <StepButton name="Close the player" Icon={X} onClick={() => playTracks([])} />
    </section>
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
