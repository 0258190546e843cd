// The list of deliveries: read page by page, kept as new as the feed.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { describe, type Said } from "./actions";
import { deliveries as api, type DeliveryFilter } from "./api";
import { query } from "./router";
import { deliveries as live } from "./store";
import type { Delivery } from "./types";

export const filterNames = ["monitor_id", "incident_id", "event_id", "destination_id"] as const;
const settleMs = 400; // attempts follow each other
const pageSize = 50;

interface Page {
  deliveries: Delivery[];
  next: string | null;
}

function readFilter(): DeliveryFilter {
  const q = query.value;
  return { state: q.get("state"), monitor_id: q.get("monitor_id"), incident_id: q.get("incident_id"), event_id: q.get("event_id"), destination_id: q.get("destination_id"), limit: pageSize };
}

export function useDeliveryList() {
  const page = useSignal<Page | null>(null);
  const failed = useSignal<Said>("");
  const again = useSignal(0);
  const filter = readFilter();
  const key = JSON.stringify(filter);
  useEffect(() => {
    const abort = new AbortController();
    failed.value = "";
    api.list(filter, abort.signal).then((read) => (page.value = read), (error) => !abort.signal.aborted && (failed.value = describe(error)));
    return () => abort.abort();
  }, [key, again.value]);

  // A delivery that is shown and has changed is read again, with its attempts.
  const shown = page.value?.deliveries ?? [];
  const stale = shown.filter((d) => isStale(d)).map((d) => d.event_id!);
  useEffect(() => {
    if (stale.length === 0) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      for (const event_id of stale.slice(0, 10)) {
        api.list({ event_id }, abort.signal).then(({ deliveries }) => page.value && (page.value = deliveries.reduce(replace, page.value)), () => {});
      }
    }, settleMs);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [stale.join(" "), live.value]);

  // New ones wait for a click: a list that moves under the pointer is of no use.
  const fresh = useComputed(() => {
    if (!page.value) return 0;
    const known = new Set(page.value.deliveries.map((d) => d.event_id));
    const newest = page.value.deliveries[0]?.created_at ?? "";
    const q = query.value;
    return [...live.value.values()].filter((u) => !known.has(u.event_id) && Date.parse(u.created_at) > (Date.parse(newest) || 0) && !q.get("incident_id") && !q.get("event_id") && !q.get("destination_id") && (!q.get("monitor_id") || q.get("monitor_id") === u.monitor_id) && fits(u.webhook_status)).length;
  });
  const more = () =>
    page.value?.next &&
    void api.list({ ...filter, cursor: page.value.next }).then(
      (read) => (page.value = { deliveries: [...page.value!.deliveries, ...read.deliveries], next: read.next }),
      (error) => (failed.value = describe(error)),
    );
  return { page: page.value, failed: failed.value, fresh: fresh.value, more, reload: () => again.value++ };
}

// keyOf names a delivery.
export const keyOf = (d: Delivery): string => d.delivery_id ?? d.event_id ?? d.created_at;

export const stateOfUpdate = { pending: "pending", sent: "delivered", failed: "failed" } as const;

function fits(status: keyof typeof stateOfUpdate): boolean {
  const wanted = query.value.get("state");
  return !wanted || wanted === stateOfUpdate[status];
}

// isStale is for deliveries to the monitor's webhook: the feed tells only of these.
function isStale(d: Delivery): boolean {
  const update = d.delivery_id ? undefined : live.value.get(d.event_id!);
  return update !== undefined && (stateOfUpdate[update.webhook_status] !== d.state || update.webhook_attempts !== d.tried);
}

function replace(page: Page, newer: Delivery): Page {
  return { ...page, deliveries: page.deliveries.map((d) => (keyOf(d) === keyOf(newer) ? newer : d)) };
}
