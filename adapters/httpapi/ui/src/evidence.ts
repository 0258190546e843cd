// The evidence and the deliveries of one incident, read once and again when the feed says that there is more.
import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { deliveries as deliveryAPI, evidence as api } from "./api";
import { deliveries, evidenceAdded, replaced } from "./store";
import type { Delivery, DeliveryUpdate, Evidence, EvidenceFile, Variant } from "./types";

const settleMs = 400; // the files of one capture are announced one by one

// useEvidence is null until it is read.
export function useEvidence(incidentID: string): ReadonlySignal<Evidence[] | null> {
  const all = useSignal<Evidence[] | null>(null);
  const added = evidenceAdded.value;
  const mine = added && (added.incident_id === incidentID || all.peek()?.some((e) => e.evidence_id === added.evidence_id)) ? added : null;
  useEffect(() => {
    const abort = new AbortController();
    const read = () => api.list({ incident_id: incidentID, limit: 50 }, abort.signal).then((page) => (all.value = page.evidence), () => {});
    const timer = setTimeout(read, all.peek() === null ? 0 : settleMs);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [incidentID, mine, replaced.value]); // state.replace does not tell what was added while the link was lost
  return all;
}

// Episode is what was captured of one time that a condition lasted.
export interface Episode {
  alert: Evidence | null;
  recovery: Evidence | null;
}

// episodeOf is the newest episode of a condition with files. all begins with the newest evidence.
export function episodeOf(all: readonly Evidence[] | null, condition: string): Episode {
  const own = (all ?? []).filter((e) => e.condition === condition);
  const alert = own.find((e) => e.phase === "alert" && e.variants.length > 0) ?? null;
  const from = Math.max(takenAt(alert, "before"), takenAt(alert, "onset"));
  const recovery = own.findLast((e) => e.phase === "recovery" && takenAt(e, "recovery") > from) ?? null;
  return { alert, recovery };
}

const takenAt = (evidence: Evidence | null, variant: Variant) => Date.parse(fileOf(evidence, variant)?.file.taken_at ?? "") || 0;

export interface Found {
  evidence: Evidence;
  file: EvidenceFile;
}

export function fileOf(evidence: Evidence | null, variant: Variant): Found | null {
  const file = evidence?.variants.find((f) => f.variant === variant);
  return evidence && file ? { evidence, file } : null;
}

// useDeliveries is null until it is read. It is read again when the monitor has an event that it does not know.
export function useDeliveries(incidentID: string, monitorID: string): ReadonlySignal<Delivery[] | null> {
  const all = useSignal<Delivery[] | null>(null);
  const updates = deliveries.value;
  const known = new Set(all.value?.map((d) => d.event_id));
  const unknown = all.value ? [...updates.values()].filter((u) => u.monitor_id === monitorID && !known.has(u.event_id)).length : 0;
  useEffect(() => {
    const abort = new AbortController();
    const read = () => deliveryAPI.list({ incident_id: incidentID, limit: 50 }, abort.signal).then((page) => (all.value = page.deliveries), () => {});
    const timer = setTimeout(read, all.peek() === null ? 0 : settleMs);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [incidentID, unknown]);
  useEffect(() => {
    const read = all.peek();
    if (read) all.value = read.map((d) => (updates.has(d.event_id) ? updated(d, updates.get(d.event_id)!) : d));
  }, [updates]);
  return all;
}

function updated(delivery: Delivery, update: DeliveryUpdate): Delivery {
  const states = { pending: "pending", sent: "delivered", failed: "failed" } as const;
  return {
    ...delivery,
    state: states[update.webhook_status],
    tried: update.webhook_attempts,
    last_error: update.webhook_last_error,
    next_attempt_at: update.next_attempt_at,
    delivered_at: update.sent_at,
  };
}
