// The evidence and the deliveries of one incident, read once and again when the feed says that there is more.
import { useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { deliveries as deliveryAPI, evidence as api } from "./api";
import { deliveries, evidenceAdded } from "./store";
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
  }, [incidentID, mine]);
  return all;
}

export interface Found {
  evidence: Evidence;
  file: EvidenceFile;
}

// find is the newest file of a variant, or null.
export function find(all: readonly Evidence[] | null, variant: Variant, phase?: Evidence["phase"]): Found | null {
  for (const evidence of all ?? []) {
    if (phase && evidence.phase !== phase) continue;
    const file = evidence.variants.find((f) => f.variant === variant);
    if (file) return { evidence, file };
  }
  return null;
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
