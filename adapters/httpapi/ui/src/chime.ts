// The sounds of incidents that nobody has, if the viewer has turned them on.
import { effect } from "@preact/signals";
import { Alarm, soundDefaults, type Last, type SoundSettings, type Sounding } from "./alarm";
import { lineOf, nameOf } from "./names";
import { hasLabels, wantedLabels } from "./labels";
import { loadPageWords, locale, text } from "./i18n";
import { conditionWord } from "./parts/State";
import { path } from "./router";
import { remembered, sound, soundBlocked } from "./settings";
import { silenced } from "./silenced";
import { incidents, isLive, loaded, monitors } from "./store";
import { worst } from "./incident";
import type { Incident } from "./types";

export const sounding = remembered<SoundSettings>("sounding", soundDefaults);

const lookEveryMs = 1000;
const lastKey = "stream-monitor.sounded";
const mostNames = 3;

let context: AudioContext | null = null;
let started = false;

export function startChime(): void {
  if (started) return;
  started = true;
  for (const event of ["click", "keydown"]) addEventListener(event, unlock);
  const alarm = new Alarm();
  let lostSince = 0;
  const look = () => {
    if (!sound.peek() || !loaded.peek()) return;
    lostSince = isLive.peek() ? 0 : lostSince || Date.now();
    if (audio()?.state !== "running") return; // it is heard once it can be
    const heard = { incidents: incidents.values(), isHeldBack, lostSince };
    const next = alarm.next(heard, sounding.peek(), Date.now(), lastOfAll());
    if (!next) return;
    remember({ at: Date.now(), severity: next.severity });
    play(next.severity, next.lost);
    if (sounding.peek().spoken) void speak(next);
  };
  effect(() => {
    incidents.values();
    silenced.value;
    sounding.value;
    sound.value;
    queueMicrotask(look);
  });
  setInterval(look, lookEveryMs);
}

// isHeldBack: a silence covers it, or the wall that is shown is one of other labels.
const isHeldBack = (i: Incident) => silenced.peek().has(i.incident_id) || (path.peek() === "/" && !hasLabels(monitors.rows.get(i.monitor_id)?.peek(), wantedLabels()));

// last is kept for all pages of this browser; without storage each page sounds for itself. A clock that was set back forgets it.
let last: Last = { at: 0, severity: 0 };

function lastOfAll(): Last {
  try {
    const stored = JSON.parse(localStorage.getItem(lastKey) ?? "null") as Last | null;
    if (stored && stored.at > last.at) last = stored;
  } catch {
    // That of this page stands.
  }
  return last.at > Date.now() ? { at: 0, severity: 0 } : last;
}

function remember(sounded: Last): void {
  last = sounded;
  try {
    localStorage.setItem(lastKey, JSON.stringify(sounded));
  } catch {
    // It is known to this page.
  }
}

// audio is the one context of the page. A browser without sound still shows everything.
function audio(): AudioContext | null {
  if (context) return context;
  try {
    context = new AudioContext();
  } catch {
    return null;
  }
  const tell = () => (soundBlocked.value = sound.peek() && context!.state !== "running");
  context.addEventListener("statechange", tell);
  setTimeout(tell, 500); // one that may run takes a moment to
  effect(() => {
    if (sound.value) unlock();
    else void context!.suspend().then(tell, () => {});
  });
  return context;
}

function unlock(): void {
  if (sound.peek() && context && context.state !== "running") void context.resume().catch(() => {});
}

// tones are those of each severity, the more the worse: seconds from the beginning, and hertz.
const tones: readonly (readonly (readonly [number, number])[])[] = [
  [[0, 660]],
  [[0, 880], [0.16, 660]],
  [[0, 880], [0.16, 660], [0.5, 880], [0.66, 660]],
  [[0, 988], [0.13, 740], [0.26, 988], [0.6, 988], [0.73, 740], [0.86, 988], [1.2, 988], [1.33, 740], [1.46, 988]],
];
const lostTones: (typeof tones)[number] = [[0, 440], [0.3, 330], [0.6, 220]];
const volumes = [0.12, 0.2, 0.25, 0.35];

// play is the sound of a severity, or that of a lost feed.
export function play(severity: number, lost = false): void {
  const to = audio();
  if (!to) return;
  void to.resume().catch(() => {});
  for (const [at, hertz] of lost ? lostTones : tones[severity]!) {
    const tone = to.createOscillator();
    const volume = to.createGain();
    const begin = to.currentTime + at;
    tone.frequency.value = hertz;
    volume.gain.setValueAtTime(0.0001, begin);
    volume.gain.exponentialRampToValueAtTime(volumes[severity]!, begin + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.0001, begin + 0.5);
    tone.connect(volume).connect(to.destination);
    tone.start(begin);
    tone.stop(begin + 0.55);
  }
}

const speechDelayMs = 1800; // after the longest sound

async function speak({ incidents: all, lost }: Sounding): Promise<void> {
  await loadPageWords().catch(() => {});
  const named = all.slice(0, mostNames).map((i) => {
    const of = monitors.rows.get(i.monitor_id)?.peek() ?? i;
    return `${nameOf(of) || lineOf(of)}: ${conditionWord(worst(i)?.name ?? "")}`;
  });
  const more = all.length > mostNames ? [text.value.wall.more(all.length - mostNames)] : [];
  setTimeout(() => say(lost ? text.value.shell.lost : [...named, ...more].join(text.value.common.stop + " ")), speechDelayMs);
}

export const canSpeak = () => typeof speechSynthesis !== "undefined";

// hasVoice reports whether the browser has a voice for the language of the pages. Some browsers know only after a while.
export const hasVoice = () => canSpeak() && speechSynthesis.getVoices().some((v) => v.lang.slice(0, 2) === locale.value.slice(0, 2));

export function say(words: string): void {
  if (!canSpeak()) return;
  const utterance = new SpeechSynthesisUtterance(words);
  utterance.lang = locale.value;
  speechSynthesis.cancel();
  speechSynthesis.speak(utterance);
}
