// What all canvases share: sharp pixels, colours of the theme, hatching.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { theme } from "../settings";

export interface Sheet {
  c: CanvasRenderingContext2D;
  width: number;
  height: number;
  colour(token: string): string; // such as "--trouble"; resolved, because tokens.css registers it
}

// useCanvas draws now, and again when the size or the theme changes or draw is another function.
export function useCanvas(draw: (sheet: Sheet) => void) {
  const ref = useRef<HTMLCanvasElement>(null);
  const resized = useSignal(0);
  useEffect(() => {
    const again = () => resized.value++;
    const sizes = new ResizeObserver(again);
    sizes.observe(ref.current!);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", again);
    return () => {
      sizes.disconnect();
      dark.removeEventListener("change", again);
    };
  }, []);
  const chosen = theme.value;
  useEffect(() => {
    const sheet = ref.current && prepare(ref.current);
    if (sheet) draw(sheet);
  }, [draw, resized.value, chosen]);
  return ref;
}

function prepare(canvas: HTMLCanvasElement): Sheet | null {
  const { clientWidth: width, clientHeight: height } = canvas;
  const c = canvas.getContext("2d");
  if (!width || !height || !c) return null;
  const sharp = devicePixelRatio || 1;
  canvas.width = Math.round(width * sharp);
  canvas.height = Math.round(height * sharp);
  c.scale(sharp, sharp);
  const style = getComputedStyle(canvas);
  const known = new Map<string, string>();
  const colour = (token: string) => known.get(token) ?? (known.set(token, style.getPropertyValue(token).trim()), known.get(token)!);
  return { c, width, height, colour };
}

// hatch marks what nobody looked at.
export function hatch({ c, colour }: Sheet, x: number, y: number, width: number, height: number): void {
  c.save();
  c.beginPath();
  c.rect(x, y, width, height);
  c.clip();
  c.strokeStyle = colour("--line-2");
  c.lineWidth = 1.5;
  c.beginPath();
  for (let i = Math.floor((x - height) / 6) * 6; i < x + width + height; i += 6) {
    c.moveTo(i, y + height);
    c.lineTo(i + height, y);
  }
  c.stroke();
  c.restore();
}
