import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { thumbnailMs } from "../feedstate";
import { text } from "../i18n";
import { evidenceURL, readThumbnail, showThumbnail, type Thumbnail } from "../pictures";
import { isLive, monitors, now, thumbnails } from "../store";
import { clock, duration } from "../time";
import type { Variant } from "../types";
import type { ComponentChildren } from "preact";
import { Glyph } from "./Glyph";

// useThumbnail keeps the newest thumbnail of a stream coming; null: there is none yet.
export function useThumbnail(id: string): Thumbnail | null {
  const picture = useSignal<Thumbnail | null>(null);
  useEffect(() => showThumbnail(id), [id]);
  thumbnails.keys.value;
  const newest = thumbnails.rows.get(id)?.value;
  useEffect(() => {
    // Only what was announced, and is still kept, is there to be asked for.
    if (!newest || now.peek() - Date.parse(newest) > thumbnailMs) return;
    const abort = new AbortController();
    readThumbnail(id, abort.signal).then(
      (read) => {
        if (!read) return;
        if (abort.signal.aborted) URL.revokeObjectURL(read.url);
        else {
          if (picture.peek()) URL.revokeObjectURL(picture.peek()!.url);
          picture.value = read;
        }
      },
      () => {},
    );
    return () => abort.abort();
  }, [id, newest]);
  useEffect(() => () => void (picture.peek() && URL.revokeObjectURL(picture.peek()!.url)), []);
  return picture.value;
}

interface LiveProps {
  intervalSec: number;
  label: string;
  children?: ComponentChildren;
}

// hasSoundOnly reports whether no picture of a stream is expected.
export const hasSoundOnly = (id: string): boolean => monitors.get(id)?.health.video === "none";

// Live is the newest thumbnail of a stream with its age. One that is older than three intervals is grey.
export function Live({ id, ...rest }: LiveProps & { id: string }) {
  return <Thumb picture={useThumbnail(id)} soundOnly={hasSoundOnly(id)} {...rest} />;
}

// Thumb is a thumbnail that its caller keeps coming.
export function Thumb({ picture, soundOnly, intervalSec, label, children }: LiveProps & { picture: Thumbnail | null; soundOnly: boolean }) {
  const words = text.value.wall;
  if (!picture) {
    return (
      <span class={soundOnly ? "pic sound" : "pic none"} role="img" aria-label={soundOnly ? words.soundOnly(label) : words.noPicture(label)}>
        {soundOnly && <Glyph name="sound" />}
        {children}
      </span>
    );
  }
  const { url, takenAt } = picture;
  return (
    <span class="pic live">
      <img src={url} alt={words.livePicture(label, clock(takenAt))} />
      {children}
      <Age takenAt={takenAt} intervalSec={intervalSec} />
    </span>
  );
}

const leastStaleSec = 30;

// isStale: the picture no longer shows how the stream is now.
export const isStale = (ageSec: number, intervalSec: number): boolean => ageSec > Math.max(leastStaleSec, 3 * intervalSec) || !isLive.value;

// Age is drawn anew each second, the picture is not.
function Age({ takenAt, intervalSec }: { takenAt: string; intervalSec: number }) {
  const age = Math.max(0, (now.value - Date.parse(takenAt)) / 1000);
  const stale = isStale(age, intervalSec);
  return <span class={stale ? "age num old" : "age num"}>{stale ? clock(takenAt) : duration(age)}</span>;
}

interface FileProps {
  evidenceID: string;
  variant: Variant;
  alt: string;
  children?: ComponentChildren;
  class?: string;
}

// File is a picture of the evidence.
export function File({ evidenceID, variant, alt, children, class: extra = "" }: FileProps) {
  const failed = useSignal(false);
  const url = evidenceURL(evidenceID, variant).value;
  const level = variant === "level";
  return (
    <span class={`pic ${level ? "level" : "dark"} ${failed.value ? "none" : ""} ${extra}`}>
      {url && !failed.value && <img src={url} alt={alt} onError={() => (failed.value = true)} />}
      {children}
    </span>
  );
}

export function NoPicture({ label, children }: { label: string; children?: ComponentChildren }) {
  return (
    <span class="pic none" role="img" aria-label={label}>
      {children}
    </span>
  );
}
