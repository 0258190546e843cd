// Names of streams that have ended: incidents have only the id of their monitor.
import { useEffect } from "preact/hooks";
import { get } from "./api";
import { monitors, Table } from "./store";
import type { Named } from "./names";

const ended = new Table<Named>();
let asked = false;

// useNames reads the newest monitors once if one of ids is unknown.
export function useNames(ids: readonly string[]): (id: string, streamURL: string) => Named {
  const unknown = ids.some((id) => !monitors.rows.has(id) && !ended.rows.has(id));
  useEffect(() => {
    if (!unknown || asked) return;
    asked = true;
    get<{ monitors: (Named & { monitor_id: string })[] }>("/api/v1/monitors", { limit: 200 }).then(
      (page) => page.monitors.forEach((m) => ended.set(m.monitor_id, m)),
      () => (asked = false),
    );
  }, [unknown]);
  monitors.keys.value;
  ended.keys.value;
  return (id, streamURL) => monitors.get(id) ?? ended.get(id) ?? { stream_url: streamURL };
}
