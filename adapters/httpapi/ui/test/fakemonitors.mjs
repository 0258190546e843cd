// Monitors of the fake gateway that can be changed and stopped, as PATCH and DELETE do it.
import { monitor } from "./fakegateway.mjs";

const refused = (status, code, message) => [status, { error: { code, message } }];

// fillMonitors gives the gateway monitors 1 to count; more(n) differs from the usual one. It returns what was sent, and the most
// requests that were there at once.
export function fillMonitors(gateway, count, more = () => ({})) {
  const log = { sent: [], most: 0 };
  let now = 0;
  for (let n = 1; n <= count; n++) {
    const { monitor_id: id } = monitor(n);
    gateway.monitors.set(id, monitor(n, { labels: {}, paused_until: null, ...more(n) }));
    const change = (method, changed) =>
      gateway.routes.set(`${method} /api/v1/monitors/${id}`, (body) => {
        const before = gateway.monitors.get(id);
        log.sent.push([method, n, ...(method === "PATCH" ? [body] : [])]);
        if (before.ended_at) return method === "DELETE" ? [200, {}] : refused(409, "MONITOR_ENDED", `${id} has ended`);
        gateway.updateMonitor(changed(before, body));
        return [200, gateway.monitors.get(id)];
      });
    change("PATCH", (m, { config, labels = {}, ...others }) => ({ ...m, ...others, config: { ...m.config, ...config }, labels: Object.fromEntries(Object.entries({ ...m.labels, ...labels }).filter(([, value]) => value !== null)) }));
    change("DELETE", (m) => ({ ...m, status: "stopped", ended_at: new Date().toISOString() }));
  }
  const answer = gateway.api.bind(gateway);
  gateway.api = (request, path, response) => {
    if (request.method !== "GET") {
      log.most = Math.max(log.most, ++now);
      response.on("close", () => now--);
    }
    answer(request, path, response);
  };
  gateway.version = 1;
  return log;
}
