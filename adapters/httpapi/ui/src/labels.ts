// Labels sort streams: by which the address of a page filters and groups, and how people type them.
import { query, path } from "./router";
import type { Labels } from "./types";

export interface Labelled {
  labels?: Labels;
}

const labelsOf = (of: Labelled | null | undefined): Labels => of?.labels ?? {};

// wantedLabels are those that the address asks for: label=NAME:VALUE, repeated. Of one name, the last counts.
export function wantedLabels(of: URLSearchParams = query.value): Labels {
  const pairs = of.getAll("label").map((text) => [text.split(":")[0]!, text.split(":").slice(1).join(":")] as const);
  return Object.fromEntries(pairs.filter(([name, value]) => name && value));
}

export const hasLabels = (of: Labelled | null | undefined, wanted: Labels): boolean => Object.entries(wanted).every(([name, value]) => labelsOf(of)[name] === value);

// withLabel is the present address with another value of a label; null: with any.
export function withLabel(name: string, value: string | null, at = path.value, of: URLSearchParams = query.value): string {
  const next = new URLSearchParams(of);
  next.delete("label");
  for (const [other, wanted] of Object.entries(wantedLabels(of))) if (other !== name) next.append("label", `${other}:${wanted}`);
  if (value !== null) next.append("label", `${name}:${value}`);
  return next.size > 0 ? `${at}?${next}` : at;
}

// valueOf is the value of the label by which a page is grouped; "": it has none.
export const valueOf = (of: Labelled | null | undefined, group: string | null): string => (group ? labelsOf(of)[group] ?? "" : "");

// known are the values of each label, by name.
export function known(all: Iterable<Labelled | null | undefined>): Map<string, string[]> {
  const values = new Map<string, Set<string>>();
  for (const one of all) for (const [name, value] of Object.entries(labelsOf(one))) values.set(name, (values.get(name) ?? new Set()).add(value));
  return new Map([...values].sort().map(([name, of]) => [name, [...of].sort((a, b) => a.localeCompare(b))]));
}

const mostGroups = 30; // more are shown as one

// grouped divides a list by the value of a label, by value; what has none is last. The last of too many has the rest.
export function grouped<T>(all: readonly T[], valueOf: (of: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(valueOf(one), [...(groups.get(valueOf(one)) ?? []), one]);
  const sorted = [...groups].sort(([a], [b]) => Number(!a) - Number(!b) || a.localeCompare(b));
  return sorted.length <= mostGroups ? sorted : [...sorted.slice(0, mostGroups - 1), ["", sorted.slice(mostGroups - 1).flatMap(([, of]) => of)]];
}

// labelsText is one label a line, as people type them.
export const labelsText = (labels: Labels = {}): string => Object.entries(labels).map(([name, value]) => `${name}=${value}`).join("\n");

// labelsTyped reads labelsText. A line without a value is kept, so that the gateway says what is wrong with it.
export function labelsTyped(typed: string): Labels {
  const lines = typed.split("\n").filter((line) => line.trim());
  return Object.fromEntries(lines.map((line) => [line.split("=")[0]!.trim(), line.split("=").slice(1).join("=").trim()]));
}

// labelChange is what makes one of the other; undefined: nothing differs.
export function labelChange(before: Labels, after: Labels): Record<string, string | null> | undefined {
  const removed = Object.keys(before).filter((name) => !(name in after)).map((name) => [name, null] as const);
  const changes = [...removed, ...Object.entries(after).filter(([name, value]) => before[name] !== value)];
  return changes.length > 0 ? Object.fromEntries(changes) : undefined;
}
