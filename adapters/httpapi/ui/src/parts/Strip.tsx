import { useSignal } from "@preact/signals";
import { useCallback } from "preact/hooks";
import { hatch, useCanvas, type Sheet } from "../draw/canvas";
import { text } from "../i18n";
import { navigate } from "../router";
import { numberText, type Cells, type Item, type State } from "../wall";
import { counts, items, nameOfItem, strip } from "../wallmodel";
import { conditionWord, pausedWord } from "./State";

const barHeight = 26;
const numberHeight = 14; // of the number below a cell that is wide enough
const numberWidth = 26;
const widestCell = 44;
const smallCell = 9; // with many streams a cell is 8 px and the strip has several rows

interface Layout {
  columns: number;
  rows: number;
  scale: number;
}

interface StripProps {
  scale?: number; // of the cells and their numbers
  tallest?: number; // px; many streams make the cells smaller
}

// Strip has one cell a stream in fixed places, so that people learn where to look. It is a picture: the lists are for readers.
export function Strip({ scale = 1, tallest = Infinity }: StripProps) {
  if (items.value.length === 0) return null;
  const words = text.value;
  const summary = Object.entries(counts.value)
    .filter(([, n]) => n > 0)
    .map(([state, n]) => `${n} ${words.common.states[state as State]}`)
    .join(words.common.listComma);
  const groups = strip.value;
  return (
    <section class="strip" aria-label={words.wall.stripLabel}>
      {groups.map(([name, cells]) => (
        <div key={name} class="strip-group" style={{ flexGrow: cells.length, maxWidth: groups.length > 1 ? `${Math.max(cells.length * widestCell, 120) * scale}px` : "none" }}>
          {groups.length > 1 && (
            <p dir="auto">
              <b class="one-line">{name || "–"}</b>
              <span>{cells.filter(Boolean).length}</span>
            </p>
          )}
          <Row cells={cells} label={words.wall.strip(summary)} scale={scale} tallest={tallest} />
        </div>
      ))}
    </section>
  );
}

function Row({ cells, label, scale: largest, tallest }: Required<StripProps> & { cells: Cells; label: string }) {
  const over = useSignal(-1);
  const width = useSignal(0);
  const layout = layoutOf(cells.length, width.value, largest, tallest);
  const { columns, rows, scale } = layout;
  const draw = useCallback(
    (sheet: Sheet) => {
      width.value = sheet.width;
      drawCells(sheet, cells, layoutOf(cells.length, sheet.width, largest, tallest), over.value);
    },
    [cells, over.value, largest, tallest],
  );
  const canvas = useCanvas(draw);
  const indexAt = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const pitch = Math.min(widestCell * scale, box.width / columns);
    const column = Math.floor((event.clientX - box.left) / pitch);
    if (column >= columns) return -1;
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    return row * columns + column;
  };
  const item = cells[over.value];
  return (
    <canvas
      ref={canvas}
      class="cells"
      role="img"
      aria-label={label}
      title={item && describe(item)}
      style={{ height: `${heightOf(layout)}px` }}
      onMouseMove={(e) => (over.value = indexAt(e))}
      onMouseLeave={() => (over.value = -1)}
      onClick={(e) => {
        const chosen = cells[indexAt(e)];
        if (chosen) navigate(chosen.incident?.state === "open" ? `/incidents/${chosen.incident.incident_id}` : `/monitors/${chosen.id}`);
      }}
    />
  );
}

function describe(item: Item): string {
  const state = item.condition ? conditionWord(item.condition.name) : item.state === "paused" ? pausedWord(item.monitor!) : text.value.common.states[item.state];
  return `${numberText(item.number)} ${nameOfItem(item)}: ${state}${item.late ? `, ${text.value.wall.late}` : ""}`;
}

const tokens: Record<State, string> = { trouble: "--trouble", warning: "--warning", recovered: "--ok", waiting: "--waiting", on_air: "--ok", paused: "--waiting", off: "--off" };
const heights: Record<State, number> = { trouble: 1, warning: 0.74, recovered: 0.54, waiting: 0.36, on_air: 0.36, paused: 0.18, off: 0.1 };

// layoutOf has the largest scale with which all cells are no taller than they may be. width 0: it is not known yet.
function layoutOf(count: number, width: number, largest: number, tallest: number): Layout {
  for (let scale = largest; ; scale = Math.max(1, scale - 0.25)) {
    const columns = width ? Math.max(1, Math.min(count, Math.floor(width / (smallCell * scale)))) : count;
    const layout = { columns, rows: Math.ceil(count / columns), scale };
    if (scale <= 1 || heightOf(layout) <= tallest) return layout;
  }
}

// heightOf: bars that can be seen from afar need not grow as much as numbers that can be read there.
const heightOf = ({ rows, scale }: Layout) => (rows > 1 ? rows * (smallCell + 3) * scale : numberHeight * scale + barHeight * Math.min(scale, 2));

function drawCells(sheet: Sheet, cells: Cells, { columns, rows, scale }: Layout, over: number): void {
  const { c, width, colour } = sheet;
  const pitch = Math.min(widestCell * scale, width / columns);
  const gap = pitch > 14 ? 2 : 1;
  const pitchY = sheet.height / rows;
  const numbered = rows === 1 && pitch >= numberWidth * scale;
  const high = rows > 1 ? pitchY - 2 : sheet.height - (numbered ? numberHeight * scale : 0);
  c.font = `500 ${11 * scale}px ${getComputedStyle(document.body).fontFamily}`;
  c.textBaseline = "bottom";
  c.clearRect(0, 0, width, sheet.height);
  cells.forEach((item, i) => {
    if (!item) return;
    const x = (i % columns) * pitch;
    const y = Math.floor(i / columns) * pitchY;
    const wide = pitch - gap;
    if (numbered) {
      c.fillStyle = colour("--text-2");
      c.fillText(numberText(item.number), x + 1, sheet.height);
    }
    c.fillStyle = colour("--well");
    c.fillRect(x, y, wide, high);
    if (item.late || item.condition?.name === "blind") hatch(sheet, x, y, wide, high);
    const part = Math.max(2, heights[item.state] * high);
    if (item.late && item.state === "on_air") return; // nothing is shown as good that nobody checks
    if (item.state === "waiting") {
      c.strokeStyle = colour("--waiting");
      c.lineWidth = 1.5;
      c.strokeRect(x + 0.75, y + high - part + 0.75, wide - 1.5, part - 1.5);
    } else {
      c.fillStyle = colour(tokens[item.state]);
      c.fillRect(x, y + high - part, wide, part);
    }
    if (item.state === "recovered") {
      c.fillStyle = colour("--trouble");
      c.fillRect(x, y + high - part, wide, 3);
    }
    if (i === over) {
      c.strokeStyle = colour("--text");
      c.lineWidth = 2;
      c.strokeRect(x + 1, y + 1, wide - 2, high - 2);
    }
  });
}
