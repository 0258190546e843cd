import { glyphs, type GlyphName } from "./glyphs";

// Glyph is decoration: the word beside it, or the label of its button, says the same.
export function Glyph({ name }: { name: GlyphName }) {
  const [line, solid] = glyphs[name];
  return (
    <svg class="glyph" viewBox="0 0 16 16" aria-hidden="true">
      {line && <path d={line} />}
      {solid && <path class="solid" d={solid} />}
    </svg>
  );
}
