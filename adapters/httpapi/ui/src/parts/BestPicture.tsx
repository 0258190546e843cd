import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { text } from "../i18n";
import type { Variant } from "../types";
import { File } from "./Picture";
import { levelPlot, Plot, useLevels } from "./Plot";

// BestPicture is the picture that shows an incident best: of a silence its sound level, drawn in the colours of the theme.
export function BestPicture({ picture, name }: { picture: { evidence_id: string; variant: Variant }; name: string }) {
  if (picture.variant === "level") return <LevelPicture evidenceID={picture.evidence_id} name={name} />;
  return <File evidenceID={picture.evidence_id} variant={picture.variant} alt={name} />;
}

export function LevelPicture({ evidenceID, name, children }: { evidenceID: string; name: string; children?: ComponentChildren }) {
  const levels = useLevels(evidenceID);
  const words = text.value.wall;
  const plot = useMemo(() => levels && levelPlot(levels, true), [levels]);
  return (
    <span class="pic plot-pic">
      {plot && <Plot plot={plot} label={words.pictureOf(words.soundPlot, name)} />}
      {children}
    </span>
  );
}
