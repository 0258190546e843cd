// What a reader of the feed knows: enough to continue from its position, and to tell a new tab everything.
import type { DeliveryUpdate, Incident, Message, Monitor } from "./types";

// The gateway names ended monitors for so long in state.replace; the dashboard keeps what has ended as long.
export const recoveredMs = 10 * 60_000;

// The gateway keeps a thumbnail for so long after it was stored, which was after it was taken.
export const thumbnailMs = 10 * 60_000;

const mostDeliveries = 500;

export class FeedState {
  position = "";
  readonly monitors = new Map<string, Monitor>();
  readonly incidents = new Map<string, Incident>();
  readonly deliveries = new Map<string, DeliveryUpdate>(); // the oldest change first
  readonly thumbnails = new Map<string, Message>(); // the newest announcement of each monitor
  heartbeat: Message | null = null;

  // apply takes one message. It returns false for a repeated or older one, which changes nothing.
  apply(message: Message): boolean {
    if (message.id !== undefined && message.type !== "state.replace" && !follows(this.position, message.id)) return false;
    switch (message.type) {
      case "state.replace":
        this.monitors.clear();
        this.incidents.clear();
        this.deliveries.clear();
        for (const monitor of message.data.monitors) this.monitors.set(monitor.monitor_id, monitor);
        for (const incident of message.data.incidents) this.incidents.set(incident.incident_id, incident);
        for (const delivery of [...message.data.deliveries].reverse()) this.deliveries.set(delivery.event_id, delivery);
        break;
      case "monitor.updated":
        this.monitors.set(message.data.monitor_id, message.data);
        break;
      case "incident.updated":
        this.incidents.set(message.data.incident_id, message.data);
        break;
      case "delivery.updated":
        this.deliveries.delete(message.data.event_id);
        this.deliveries.set(message.data.event_id, message.data);
        for (const id of this.deliveries.keys()) if (this.deliveries.size > mostDeliveries) this.deliveries.delete(id);
        break;
      case "thumbnail.updated":
        this.thumbnails.set(message.data.monitor_id, message);
        break;
      case "heartbeat":
        this.heartbeat = message;
        break;
    }
    if (message.id !== undefined) this.position = message.id;
    return true;
  }

  // forget removes what ended more than 10 minutes before now.
  forget(now: number): { monitors: string[]; incidents: string[] } {
    const ended = (at: string | null | undefined) => at != null && now - Date.parse(at) > recoveredMs;
    const incidents = [...this.incidents.values()].filter((i) => ended(i.resolved_at) && !this.lasts(i)).map((i) => i.incident_id);
    for (const id of incidents) this.incidents.delete(id);
    for (const [id, { at }] of this.thumbnails) if (now - Date.parse(at) > thumbnailMs) this.thumbnails.delete(id);
    const troubled = new Set([...this.incidents.values()].map((i) => i.monitor_id));
    const monitors = [...this.monitors.values()].filter((m) => ended(m.ended_at) && !troubled.has(m.monitor_id)).map((m) => m.monitor_id);
    for (const id of monitors) this.monitors.delete(id);
    return { monitors, incidents };
  }

  // lasts reports whether a resolved incident has a condition that goes on, of a monitor that has not ended.
  private lasts(incident: Incident): boolean {
    const monitor = this.monitors.get(incident.monitor_id);
    return monitor !== undefined && !monitor.ended_at && incident.conditions.some((c) => c.ended_at === null);
  }

  // snapshot is what a new tab has to hear first.
  snapshot(): Message[] {
    if (!this.position) return this.heartbeat ? [this.heartbeat] : [];
    const all: Message = {
      id: this.position,
      type: "state.replace",
      at: this.heartbeat?.at ?? new Date().toISOString(),
      data: { monitors: [...this.monitors.values()], incidents: [...this.incidents.values()], deliveries: [...this.deliveries.values()].reverse() },
    };
    return [all, ...this.thumbnails.values(), ...(this.heartbeat ? [this.heartbeat] : [])];
  }
}

// follows reports whether the entry next comes after position. Another epoch always does.
export function follows(position: string, next: string): boolean {
  const [epoch, version] = split(position);
  const [nextEpoch, nextVersion] = split(next);
  return epoch !== nextEpoch || nextVersion > version;
}

function split(position: string): [string, number] {
  const dash = position.lastIndexOf("-");
  return [position.slice(0, dash), Number(position.slice(dash + 1))];
}
