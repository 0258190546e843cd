// What the page of destinations shows and edits.
import { signal } from "@preact/signals";
import { duties, type Duty } from "./duty";
import { destinations, routes, silences, type Destination, type Kind, type Route, type Silence, type Test } from "./notifications";

// Routing is everything that decides which message goes where.
export interface Routing {
  kinds: Kind[];
  destinations: Destination[];
  routes: Route[];
  silences: Silence[];
  duty: Duty;
}

export async function readRouting(abort: AbortSignal): Promise<Routing> {
  const [kinds, all, ordered, silenced, duty] = await Promise.all([destinations.kinds(abort), destinations.list(abort), routes.list(abort), silences.list(abort), duties.read(abort)]);
  return { kinds: kinds.kinds, destinations: all.destinations, routes: ordered.routes, silences: silenced.silences, duty };
}

// changes counts what a person has changed here, so that everything is read again.
export const changes = signal(0);
export const changed = () => void changes.value++;

// NewSilence is a silence that is not there yet: any, or one of the night.
export type NewSilence = "new" | "night";

// editing is the form that is open: of a new thing (null), or of one that is there.
export const editing = signal<{ destination: Destination | null } | { route: Route | null } | { silence: Silence | NewSilence } | "duty" | "override" | null>(null);

// tested is the newest test.
export const tested = signal<{ name: string; test: Test } | null>(null);
