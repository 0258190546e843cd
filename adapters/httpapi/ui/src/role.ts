// What the key with which somebody signed in may do. The gateway decides; the pages only show it.
import { signal } from "@preact/signals";
import { session } from "./api";
import { text } from "./i18n";
import type { Role } from "./types";

const roles: Role[] = ["view", "operate", "admin"]; // from the least on

export interface Holder {
  name: string;
  role: Role;
  signInAgainAt: number; // by then, whatever requests come
}

// holder is null until it is read, and where nobody is signed in by a session.
export const holder = signal<Holder | null>(null);

export async function readHolder(): Promise<void> {
  try {
    const { name, role, sign_in_again_at } = await session.read();
    holder.value = roles.includes(role) ? { name, role, signInAgainAt: Date.parse(sign_in_again_at) } : null;
  } catch {
    holder.value = null;
  }
}

// may is true where the role is not known: the gateway refuses what it does not include.
export function may(needed: Role): boolean {
  return !holder.value || roles.indexOf(holder.value.role) >= roles.indexOf(needed);
}

// reasonAgainst says why something cannot be done with this key; undefined: it can.
export function reasonAgainst(needed: Role): string | undefined {
  return may(needed) ? undefined : text.value.common.notAllowed(holder.value!.name, text.value.common.roles[needed]);
}
