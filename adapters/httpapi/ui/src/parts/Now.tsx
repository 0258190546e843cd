import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { text } from "../i18n";
import { isLive, now } from "../store";
import { clockDay, decimal, duration } from "../time";
import type { Monitor } from "../types";
import { isPaused } from "../wall";
import { isStale, useThumbnail } from "./Picture";
import { pausedWord } from "./State";

const patienceSec = 30; // then it is said that no picture came

// Now is the newest picture of a stream with its time, age and luma, or the reason why there is none.
export function Now({ monitor, name }: { monitor: Monitor; name: string }) {
  const words = text.value;
  const picture = useThumbnail(monitor.monitor_id);
  const luma = useSignal<number | null>(null);
  const age = picture ? Math.max(0, (now.value - Date.parse(picture.takenAt)) / 1000) : 0;
  const stale = picture !== null && isStale(age, monitor.config.check_interval_sec);
  return (
    <figure class="shot">
      {picture ? (
        <span class={`pic dark${stale ? " stale" : ""}`}>
          <img src={picture.url} alt={words.wall.livePicture(name, clockDay(picture.takenAt, now.peek()))} onLoad={(e) => (luma.value = lumaPercent(e.currentTarget))} />
        </span>
      ) : (
        <Missing monitor={monitor} />
      )}
      <figcaption>
        <b>{stale ? words.wall.lastPicture : words.incident.now}</b>
        <span class="num right">{picture && clockDay(picture.takenAt, now.peek())}</span>
        <span class={stale ? "num is-warning" : "num"}>{picture && words.common.ago(duration(age))}</span>
        <span class="num right">{picture && luma.value !== null && words.wall.luma(decimal(luma.value, 0))}</span>
      </figcaption>
    </figure>
  );
}

// Missing says that a picture is on its way, or why none comes.
function Missing({ monitor }: { monitor: Monitor }) {
  const words = text.value.incident.nowMissing;
  const askedAt = useMemo(() => now.peek(), [monitor.monitor_id]);
  const waited = (now.value - askedAt) / 1000;
  const why = !isLive.value ? words.linkLost : isPaused(monitor, now.value) ? pausedWord(monitor) : monitor.blind_since ? words.blind : waited > patienceSec ? words.none(duration(waited)) : null;
  return (
    <span class="pic words">
      <span role="status">{why ?? words.fetching}</span>
    </span>
  );
}

// lumaPercent is the mean brightness of a picture (ITU-R BT.601).
function lumaPercent(picture: HTMLImageElement): number | null {
  const [width, height] = [32, 18];
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const c = canvas.getContext("2d");
  if (!c) return null;
  c.drawImage(picture, 0, 0, width, height);
  const { data } = c.getImageData(0, 0, width, height);
  let sum = 0;
  for (let i = 0; i < data.length; i += 4) sum += 0.299 * data[i]! + 0.587 * data[i + 1]! + 0.114 * data[i + 2]!;
  return (sum / (width * height) / 255) * 100;
}
