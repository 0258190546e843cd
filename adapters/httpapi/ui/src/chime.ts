// One sound for a batch of new incidents, if the viewer has turned it on.
import { effect } from "@preact/signals";
import { sound } from "./settings";
import { incidents, loaded } from "./store";
import { isTaken } from "./incident";

const batchMs = 1500;

export function startChime(): void {
  let known: Set<string> | null = null;
  let playedAt = -Infinity;
  effect(() => {
    if (!loaded.value) return;
    const open = incidents.values().filter((i) => i.state === "open" && !isTaken(i));
    const fresh = known !== null && open.some((i) => !known!.has(keyOf(i)));
    known = new Set(open.map(keyOf));
    if (fresh && sound.peek() && performance.now() - playedAt > batchMs) {
      playedAt = performance.now();
      play();
    }
  });
}

// A reopened incident needs somebody again.
const keyOf = (i: { incident_id: string; reopened: number }) => `${i.incident_id} ${i.reopened}`;

// toggleSound plays it once: browsers allow sound only after a click, and the viewer hears what to expect.
export function toggleSound(): void {
  sound.value = !sound.value;
  if (sound.value) play();
}

export function play(): void {
  try {
    const context = new AudioContext();
    for (const [at, hertz] of [[0, 880], [0.16, 660]] as const) {
      const tone = context.createOscillator();
      const volume = context.createGain();
      tone.frequency.value = hertz;
      volume.gain.setValueAtTime(0.0001, context.currentTime + at);
      volume.gain.exponentialRampToValueAtTime(0.2, context.currentTime + at + 0.02);
      volume.gain.exponentialRampToValueAtTime(0.0001, context.currentTime + at + 0.5);
      tone.connect(volume).connect(context.destination);
      tone.start(context.currentTime + at);
      tone.stop(context.currentTime + at + 0.55);
    }
    setTimeout(() => void context.close(), 1500);
  } catch {
    // A browser without sound still shows everything.
  }
}
