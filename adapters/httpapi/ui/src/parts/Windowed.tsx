import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface Props<T> {
  items: readonly T[];
  rowHeight: number; // of a row with its gap, in px
  minWidth: number; // of a cell; Infinity: one column
  gap: number;
  label: string;
  class: string;
  keyOf: (item: T) => string;
  chosen: number; // index of the item to scroll to; -1: none
  follow: string; // scrolls to the chosen item when it changes
  children: (item: T, index: number) => ComponentChildren;
}

const beyond = 2; // rows that are drawn above and below the view
const beside = 8; // px between the chosen item and the edge of the view

// Windowed draws only the rows in view: with 1,000 streams the DOM would be the cost.
export function Windowed<T>({ items, rowHeight, minWidth, gap, label, class: name, keyOf, chosen, follow, children }: Props<T>) {
  const ref = useRef<HTMLUListElement>(null);
  const view = useSignal({ first: 0, last: 12, columns: 1 });
  useEffect(() => {
    let frame = 0;
    const measure = () => {
      frame = 0;
      const list = ref.current;
      if (!list || !list.offsetWidth) return;
      const box = list.getBoundingClientRect();
      const zoom = box.width / list.offsetWidth || 1; // large screens are zoomed
      const columns = columnsOf(list, minWidth, gap);
      const first = Math.max(0, Math.floor(-box.top / zoom / rowHeight) - beyond);
      const last = Math.max(first, Math.ceil((innerHeight - box.top) / zoom / rowHeight) + beyond);
      const seen = view.peek();
      if (seen.first !== first || seen.last !== last || seen.columns !== columns) view.value = { first, last, columns };
    };
    const later = () => (frame ||= requestAnimationFrame(measure));
    const sizes = new ResizeObserver(later);
    sizes.observe(ref.current!);
    sizes.observe(document.body);
    addEventListener("scroll", later, { passive: true });
    measure();
    return () => {
      sizes.disconnect();
      removeEventListener("scroll", later);
      cancelAnimationFrame(frame);
    };
  }, [rowHeight, minWidth, gap]);
  useEffect(() => {
    const list = ref.current!;
    if (chosen < 0 || !list.offsetWidth) return;
    const box = list.getBoundingClientRect();
    const zoom = box.width / list.offsetWidth;
    const top = box.top + Math.floor(chosen / columnsOf(list, minWidth, gap)) * rowHeight * zoom;
    const covered = document.querySelector(".row-head") ?? document.querySelector(".top"); // they stay at the top
    const above = (covered?.getBoundingClientRect().bottom ?? 0) + beside;
    const bottom = document.querySelector(".selected-bar")?.getBoundingClientRect().top ?? innerHeight;
    const below = bottom - rowHeight * zoom - beside;
    if (top < above) scrollBy(0, top - above);
    else if (top > below) scrollBy(0, top - below);
  }, [follow]);
  const { first, last, columns } = view.value;
  const rows = Math.ceil(items.length / columns);
  const from = Math.min(first, Math.max(0, rows - 1)) * columns;
  const drawn = items.slice(from, last * columns);
  return (
    <ul
      ref={ref}
      class={name}
      aria-label={label}
      style={{
        height: `${Math.max(0, rows * rowHeight - gap)}px`,
        paddingTop: `${(from / columns) * rowHeight}px`,
        gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
      }}
    >
      {drawn.map((item, i) => (
        <li key={keyOf(item)} aria-setsize={items.length} aria-posinset={from + i + 1}>
          {children(item, from + i)}
        </li>
      ))}
    </ul>
  );
}

const columnsOf = (list: HTMLElement, minWidth: number, gap: number) => (minWidth === Infinity ? 1 : Math.max(1, Math.floor((list.offsetWidth + gap) / (minWidth + gap))));
