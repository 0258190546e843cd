import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { monitors as api } from "../api";
import { overall, type Span } from "../draw/lanes";
import { text } from "../i18n";
import { now } from "../store";
import { Lane } from "./Lane";

export const hourMs = 3_600_000;
const buckets = 120;

export interface Hour {
  spans: Span[];
  from: number; // ms since 1970
  to: number;
}

// useLastHour is the worst state of a stream over the hour until now; null until it is read. It is read again with another key.
export function useLastHour(id: string, key: string, settleMs = 0): Hour | null {
  const hour = useSignal<Hour | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    const read = () => {
      const to = Math.floor(now.peek() / 1000) * 1000;
      const from = to - hourMs;
      api.timeline(id, new Date(from).toISOString(), new Date(to).toISOString(), buckets, abort.signal).then(
        (timeline) => (hour.value = { spans: overall(timeline.buckets, timeline.bucket_sec, to), from, to }),
        () => {},
      );
    };
    const timer = setTimeout(read, settleMs);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [id, key]);
  return hour.value;
}

export function HourLane({ hour, name }: { hour: Hour | null; name: string }) {
  if (!hour) return <span class="lane" />;
  return <Lane {...hour} label={text.value.wall.lastHourLabel(name)} />;
}
