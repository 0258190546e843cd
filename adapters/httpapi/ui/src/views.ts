// Views that this browser keeps by name: the addresses of pages with their filters, grouping and form.
import { path, query } from "./router";
import { remembered } from "./settings";

export interface View {
  name: string;
  address: string; // path and query
}

export const views = remembered<View[]>("views", []);

// address is that of the page as it is now.
export const address = () => (query.value.size > 0 ? `${path.value}?${query.value}` : path.value);

// saved is the list with a view; one of the same name is replaced.
export const saved = (all: readonly View[], view: View): View[] => [...all.filter((v) => v.name !== view.name), view].sort((a, b) => a.name.localeCompare(b.name));
