import { text } from "../i18n";
import { pageOf } from "../names";
import { Glyph } from "./Glyph";

// Watch opens the stream where viewers see it.
export function Watch({ url }: { url: string }) {
  const words = text.value.common;
  const onYouTube = URL.canParse(url) && /(^|\.)youtube\.com$/.test(new URL(url).hostname);
  const word = onYouTube ? words.watchOnYouTube : words.watchStream;
  return (
    <a class="btn watch" aria-label={word} href={pageOf(url)} target="_blank" rel="noreferrer noopener">
      <Glyph name="play" />
      <span>{word}</span>
    </a>
  );
}
