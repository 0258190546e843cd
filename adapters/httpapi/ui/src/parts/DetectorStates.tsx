import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { monitors as api } from "../api";
import { detectors, detectorWords } from "../detectors";
import { text } from "../i18n";
import { now } from "../store";
import { clockDay, decimal, wholeDuration } from "../time";
import type { Health, Monitor } from "../types";
import { Glyph } from "./Glyph";
import { Renditions } from "./Renditions";
import { conditionGlyph, healthWord } from "./State";

const looks: Record<string, string> = { ok: "is-on_air", unknown: "is-off" };

// DetectorStates shows which optional detectors run, what each makes of the stream, and what it measured last.
export function DetectorStates({ monitor }: { monitor: Monitor }) {
  const words = text.value.monitor;
  const runs = monitor.config.detectors ?? {};
  const health = useHealth(monitor);
  const rows = detectors.value.filter((d) => runs[d.name]);
  if (rows.length === 0) return null;
  return (
    <section class="card" aria-labelledby="detectors-title">
      <div class="card-head">
        <h2 id="detectors-title">{words.detectors}</h2>
      </div>
      <ul class="detector-states card-body">
        {rows.map((d) => {
          const state = health.conditions?.find((s) => s.detector === d.name);
          const labels = detectorWords(d)?.values ?? {};
          return (
            <li key={d.name}>
              <span class={`word ${looks[state?.state ?? "unknown"] ?? "is-warning"}`}>
                <Glyph name={state?.state === "ok" ? "ok" : !state || state.state === "unknown" ? "blind" : conditionGlyph(d.condition)} />
                {detectorWords(d)?.title ?? d.name}
              </span>
              <span class="num">
                {healthWord(state?.state ?? "unknown")}
                {state?.since && ` · ${words.startedAt(clockDay(state.since, now.peek()))}`}
              </span>
              <small class="dim num wrap">
                {[words.afterSec(wholeDuration(runs[d.name]?.threshold_sec ?? d.threshold.default)), ...Object.entries(state?.values ?? {}).map(([name, value]) => `${labels[name] ?? name.replaceAll("_", " ")}: ${decimal(value, 2)}`)].join(" · ")}
              </small>
            </li>
          );
        })}
      </ul>
      {health.renditions && <Renditions renditions={health.renditions} />}
    </section>
  );
}

// useHealth reads the health at each check: the feed tells only that a state has changed, not what is measured.
function useHealth(monitor: Monitor): Health {
  const read = useSignal<Health | null>(null);
  const told = JSON.stringify([monitor.health.conditions, monitor.health.renditions]);
  const id = monitor.monitor_id;
  const active = !monitor.ended_at && Object.values(monitor.config.detectors ?? {}).some(Boolean);
  const everyMs = Math.max(10, monitor.config.check_interval_sec) * 1000;
  useEffect(() => {
    read.value = null;
    if (!active) return;
    const abort = new AbortController();
    const again = () =>
      api.read(id, abort.signal).then(
        (m) => (read.value = m.health),
        () => undefined, // the feed says that the connection is lost
      );
    const timer = setInterval(() => !document.hidden && void again(), everyMs);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [id, told, active, everyMs]);
  return read.value ?? monitor.health;
}
