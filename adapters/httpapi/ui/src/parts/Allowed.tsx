import type { ComponentChildren } from "preact";
import { reasonAgainst } from "../role";
import type { Role } from "../types";

// Allowed disables what is in it, and says why, where the role of the key does not include it.
export function Allowed({ to, children }: { to: Role; children: ComponentChildren }) {
  const reason = reasonAgainst(to);
  return (
    <fieldset class="allowed" disabled={!!reason} title={reason} aria-label={reason}>
      {children}
    </fieldset>
  );
}

// NotAllowed is a sentence above a page on which nothing can be done with this key.
export function NotAllowed({ to }: { to: Role }) {
  const reason = reasonAgainst(to);
  return reason ? (
    <p class="notice" role="note">
      {reason}
    </p>
  ) : null;
}
