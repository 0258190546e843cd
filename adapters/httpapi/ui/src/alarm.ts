// When an incident is heard: once as it begins or gets worse, and again until somebody has it. Apart from how it sounds.
import { isTaken, needsSomebody } from "./incident";
import type { Incident } from "./types";

// SoundSettings say what this browser lets sound. Severities are 0 to 3; 4: none.
export interface SoundSettings {
  least: number; // the least severity that sounds
  repeatSec: number; // until somebody has it; 0: once
  quiet: { on: boolean; from: string; to: string; least: number }; // "22:00" in this browser's zone
  spoken: boolean;
}

export const soundDefaults: SoundSettings = { least: 0, repeatSec: 30, quiet: { on: false, from: "22:00", to: "07:00", least: 3 }, spoken: false };

// isQuiet reports whether a time of day is in the quiet hours: from the first minute on, up to the last. Equal ends are no hours.
export function isQuiet({ on, from, to }: SoundSettings["quiet"], at: Date): boolean {
  const minute = at.getHours() * 60 + at.getMinutes();
  const [begin, end] = [minutesOf(from), minutesOf(to)];
  if (!on) return false;
  return begin <= end ? begin <= minute && minute < end : begin <= minute || minute < end;
}

function minutesOf(time: string): number {
  const [hours, minutes] = time.split(":").map(Number);
  return hours! * 60 + minutes!;
}

export const leastNow = (s: SoundSettings, at: Date): number => Math.max(s.least, isQuiet(s.quiet, at) ? s.quiet.least : 0);

// Sounding is what is heard now: what is new, or all again that nobody has.
export interface Sounding {
  severity: number;
  incidents: Incident[]; // the most severe first
  lost: boolean; // the feed is lost
}

// Last is a sound: several pages of a browser sound as one.
export interface Last {
  at: number;
  severity: number;
}

const batchMs = 1500; // what begins within it, and is no worse, is one sound
const lostMs = 30_000; // a gateway that restarts is not heard
const lostSeverity = 2;

export interface Heard {
  incidents: readonly Incident[];
  isHeldBack: (incident: Incident) => boolean; // by a silence, or by the filter of the page
  lostSince: number; // 0: the feed is there
}

// Alarm remembers what was heard. Times are in ms since 1970.
export class Alarm {
  private known: Map<string, number> | null = null; // the severity with which an incident was heard
  private lostHeard = 0; // the loss that was heard

  // next returns what is to be heard now; null: nothing. last is what any page of this browser has sounded last.
  next({ incidents, isHeldBack, lostSince }: Heard, s: SoundSettings, now: number, last: Last): Sounding | null {
    const first = this.known === null;
    const least = leastNow(s, new Date(now));
    const due = s.repeatSec > 0 && now - last.at >= s.repeatSec * 1000;
    if (lostSince > 0) {
      // What it knew may be over: only the loss is heard.
      const isNew = this.lostHeard !== lostSince && now - lostSince >= lostMs;
      if (lostSeverity < least || !(isNew || (due && this.lostHeard === lostSince))) return null;
      this.lostHeard = lostSince;
      return { severity: lostSeverity, incidents: [], lost: true };
    }
    const known = new Map([...(this.known ?? [])].filter(([key]) => incidents.some((i) => keyOf(i) === key && i.state === "open" && !isTaken(i))));
    this.known = known;
    const all = incidents.filter((i) => needsSomebody(i) && severityOf(i) >= least && !isHeldBack(i)).sort((a, b) => severityOf(b) - severityOf(a));
    const fresh = all.filter((i) => severityOf(i) > (known.get(keyOf(i)) ?? -1));
    for (const i of fresh) known.set(keyOf(i), severityOf(i));
    const begins = fresh.length > 0 && (now - last.at > batchMs || severityOf(fresh[0]!) > last.severity) && !(first && s.repeatSec === 0);
    if (!begins && !(due && all.length > 0)) return null;
    const heard = begins ? fresh : all;
    return { severity: severityOf(heard[0]!), incidents: heard, lost: false };
  }
}

// A reopened incident needs somebody again.
const keyOf = (i: Incident) => `${i.incident_id} ${i.reopened}`;

const severityOf = (i: Incident) => i.severity_now ?? i.severity;
