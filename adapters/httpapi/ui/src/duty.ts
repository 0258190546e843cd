// Who is on duty: the API's object and its requests, and what the wall shows of it. The feed does not tell it, so it is asked for while somebody looks.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get, post, request } from "./api";
import { isLive } from "./store";

const readEveryMs = 30_000;

export interface Duty {
  on_duty: string[];
  handover_at: string | null;
  next: string[];
  people: { name: string; destination_id: string | null; windows: Window[] }[];
  overrides: { override_id: string; person: string; from: string; to: string; by: string }[];
  owner: string | null;
}

export interface Window {
  weekdays: Weekday[];
  start: string;
  end: string;
  timezone: string;
}

export type Weekday = "mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun";

const path = "/api/v1/duty";

export const duties = {
  read: (signal?: AbortSignal) => get<Duty>(path, {}, signal),
  change: (people: Duty["people"]) => request<Duty>("PATCH", path, { people }),
  override: (override: { person: string; from?: string; to: string; by: string }) => post<Duty>(`${path}/overrides`, override),
  endOverride: (id: string) => request<void>("DELETE", `${path}/overrides/${encodeURIComponent(id)}`),
};

export const duty = signal<Duty | null>(null); // null: not read yet, or it cannot be

// useDuty keeps duty as it is at the gateway.
export function useDuty(): void {
  useEffect(() => {
    const read = async () => {
      if (!isLive.peek() || document.hidden) return;
      try {
        duty.value = await duties.read();
      } catch {
        // It is asked again.
      }
    };
    void read();
    const timer = setInterval(() => void read(), readEveryMs);
    return () => clearInterval(timer);
  }, []);
}
