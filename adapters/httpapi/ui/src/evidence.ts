// The evidence and the deliveries of one incident, read once and again when the feed says that there is more.
import { type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { deliveries as deliveryAPI, evidence as api } from "./api";
import { useRead } from "./read";
import { deliveries, evidenceAdded, replaced } from "./store";
import type { Delivery, DeliveryUpdate, Evidence, EvidenceFile, Variant } from "./types";

// useEvidence is null until it is read. state.replace does not tell what was added while the link was lost.
export function useEvidence(incidentID: string, monitorID: string): ReadonlySignal<Evidence[] | null> {
  const read = (abort: AbortSignal) => api.list({ incident_id: incidentID, limit: 50 }, abort).then((page) => page.evidence);
  return useRead(read, [incidentID, evidenceAdded.get(monitorID), replaced.value]).answer;
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

// useDeliveries is null until it is read. It is read again when the feed tells of another event of the monitor.
export function useDeliveries(incidentID: string, monitorID: string): ReadonlySignal<Delivery[] | null> {
  const updates = deliveries.value;
  const events = [...updates.values()].filter((u) => u.monitor_id === monitorID).map((u) => u.event_id);
  const read = (abort: AbortSignal) => deliveryAPI.list({ incident_id: incidentID, limit: 50 }, abort).then((page) => page.deliveries);
  const { answer: all } = useRead(read, [incidentID, events.sort().join()]);
  useEffect(() => {
    const read = all.peek();
    if (read) all.value = read.map((d) => (!d.delivery_id && updates.has(d.event_id!) ? updated(d, updates.get(d.event_id!)!) : d));
  }, [updates]);
  return all;
}

// firstTold is when the receiver first accepted something; null: never. delivered_at is when it did last.
export const firstTold = (d: Delivery): string | null => d.attempts.find((a) => a.error === null)?.at ?? d.delivered_at;

// triesOf counts attempts: those of an event since it was last delivered again, or those of all messages.
export const triesOf = (d: Delivery): number => (d.event_id ? d.tried : d.attempts.length);

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
