// The screen that a wall hangs on: whether somebody is at it, whether the page fills it, and that it stays on.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

const idleMs = 5000; // after it nobody is at the screen

// useIdle is true while nobody has moved a pointer or pressed a key for a while.
export function useIdle(): boolean {
  const idle = useSignal(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const active = () => {
      clearTimeout(timer);
      idle.value = false;
      timer = setTimeout(() => (idle.value = true), idleMs);
    };
    active();
    const events = ["pointermove", "pointerdown", "keydown"];
    events.forEach((event) => addEventListener(event, active));
    return () => {
      clearTimeout(timer);
      events.forEach((event) => removeEventListener(event, active));
    };
  }, []);
  return idle.value;
}

// isFull: by the button or the key, or as the browser's own full screen.
const isFull = () => document.fullscreenElement !== null || matchMedia("(display-mode: fullscreen)").matches;

// useFull is true while the page fills the screen.
export function useFull(): boolean {
  const full = useSignal(isFull());
  useEffect(() => {
    const look = () => (full.value = isFull());
    look(); // it may have been filled since the page was drawn
    const mode = matchMedia("(display-mode: fullscreen)");
    document.addEventListener("fullscreenchange", look);
    mode.addEventListener("change", look);
    return () => {
      document.removeEventListener("fullscreenchange", look);
      mode.removeEventListener("change", look);
    };
  }, []);
  return full.value;
}

// useWakeLock keeps the screen on while it is full, and is true where the browser does not do that. A page that was hidden has
// lost the lock and asks again.
export function useWakeLock(): boolean {
  const full = useFull();
  const refused = useSignal(false);
  useEffect(() => {
    if (!full) return;
    let lock: WakeLockSentinel | null = null;
    let ended = false;
    let asking = false;
    const take = async () => {
      if (document.hidden || asking || (lock && !lock.released)) return;
      asking = true;
      try {
        lock = await navigator.wakeLock.request("screen");
        refused.value = false;
        if (ended) void lock.release();
      } catch {
        refused.value = true; // over plain http there is none
      }
      asking = false;
    };
    void take();
    document.addEventListener("visibilitychange", take);
    return () => {
      ended = true;
      document.removeEventListener("visibilitychange", take);
      void lock?.release();
    };
  }, [full]);
  return full && refused.value;
}
