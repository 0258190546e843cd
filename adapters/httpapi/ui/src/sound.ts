// Whether this browser makes sounds. What makes them is loaded by the browsers that do.
import { effect } from "@preact/signals";
import { sound, soundBlocked } from "./settings";

const retryMs = 3000;
const chime = () => import("./chime");

export function startSound(): void {
  effect(() => {
    if (sound.value) start();
  });
}

function start(): void {
  chime().then((m) => m.startChime(), () => setTimeout(start, retryMs));
}

// toggleSound lets it be heard once: browsers allow sound only after a click, and the viewer hears what to expect.
export function toggleSound(): void {
  if (!soundBlocked.value) sound.value = !sound.value;
  if (sound.value) void chime().then((m) => m.play(1));
}
