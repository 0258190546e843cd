import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Mark } from "../draw/lanes";
import { detectorOf } from "../detectors";
import { fileOf, type Found } from "../evidence";
import { text } from "../i18n";
import { evidenceURL } from "../pictures";
import { decimal } from "../time";
import type { Evidence } from "../types";
import { Axis } from "./OnsetTimeline";
import { levelPlot, Plot, useLevels } from "./Plot";

// Clip is the media around the onset of an alert, with the sound level on the same time.
export function Clip({ alert }: { alert: Evidence | null }) {
  const words = text.value.incident;
  const clip = fileOf(alert, "clip");
  const levels = fileOf(alert, "levels");
  if (!clip && !levels) return null;
  return (
    <section class="card" aria-labelledby="clip-title">
      <div class="card-head">
        <h2 id="clip-title">{words.clip}</h2>
        {clip && <span class="tag num">{megabytes(clip.file.size)}</span>}
        {clip && <span class="tag">{words.notEncoded}</span>}
        {clip && <Download clip={clip} />}
      </div>
      <Player clip={clip} levels={levels} onset={fileOf(alert, "onset")} />
    </section>
  );
}

function Download({ clip }: { clip: Found }) {
  const url = evidenceURL(clip.evidence.evidence_id, "clip").value;
  return (
    <a class="btn quiet end" href={url ?? undefined} download={`${clip.evidence.evidence_id}.mp4`}>
      {text.value.incident.download}
    </a>
  );
}

const leadSec = 3; // the clip begins so long before the picture of the onset: the first thing seen is good

function Player({ clip, levels, onset }: { clip: Found | null; levels: Found | null; onset: Found | null }) {
  const words = text.value.incident;
  const at = useSignal<number | null>(null); // the moment that is shown, in ms since 1970
  const begin = clip ? Date.parse(clip.file.taken_at) : 0;
  const fromSec = onset ? Math.max(0, (Date.parse(onset.file.taken_at) - begin) / 1000 - leadSec) : 0;
  return (
    <div class="player">
      {clip ? <Video clip={clip} fromSec={fromSec} onTime={(seconds) => (at.value = begin + seconds * 1000)} /> : <p class="muted">{words.noClip}</p>}
      {levels && <Level levels={levels} at={at.value} />}
    </div>
  );
}

function Video({ clip, fromSec, onTime }: { clip: Found; fromSec: number; onTime: (seconds: number) => void }) {
  const url = evidenceURL(clip.evidence.evidence_id, "clip").value;
  return (
    <span class="pic">
      {url && <video src={`${url}#t=${fromSec.toFixed(1)}`} controls preload="metadata" playsInline aria-label={text.value.incident.clipLabel} onTimeUpdate={(e) => onTime(e.currentTarget.currentTime)} />}
    </span>
  );
}

function Level({ levels: found, at }: { levels: Found; at: number | null }) {
  const words = text.value.incident;
  const levels = useLevels(found.evidence.evidence_id);
  const bad = detectorOf(found.evidence.condition)?.track === "audio";
  const plot = useMemo(() => {
    if (!levels) return null;
    const drawn = levelPlot(levels, bad);
    const head: Mark[] = at === null ? [] : [{ at, kind: "now" }];
    return { ...drawn, marks: [...drawn.marks!, ...head] };
  }, [levels, at, bad]);
  return (
    <div class="plots">
      <p class="plot-label">
        <b>{words.level}</b> {words.levelUnit}
        {levels && <span class="end">{words.threshold(`${decimal(levels.threshold_dbfs)} dB`)}</span>}
      </p>
      {plot ? <Plot plot={plot} label={words.levelLabel} class="plot tall" /> : <span class="plot tall" />}
      {plot && <Axis from={plot.from} to={plot.to} strong={Date.parse(levels!.instant)} />}
    </div>
  );
}

const megabytes = (bytes: number) => `${decimal(bytes / 1e6)} MB`;
