// The wall as it hangs in a room: a form of the wall that is in its address, view=room.
import { computed } from "@preact/signals";
import { path, query, setQuery } from "./router";

export const inRoom = computed(() => path.value === "/" && query.value.get("view") === "room");

// enterRoom fills the screen where the browser lets it, which takes a click or a key.
export function enterRoom(): void {
  setQuery({ view: "room", show: null, q: null });
  void document.documentElement.requestFullscreen?.().catch(() => {});
}

export function leaveRoom(): void {
  setQuery({ view: null });
  if (document.fullscreenElement) void document.exitFullscreen();
}
