import { text } from "../i18n";
import { language } from "../settings";
import { now } from "../store";
import { clockDay } from "../time";
import type { Ingest, IngestIssue } from "../types";
import { Glyph } from "./Glyph";
import type { GlyphName } from "./glyphs";

const looks: Record<IngestIssue["severity"], [GlyphName, string]> = { error: ["fail", "trouble"], warning: ["warning", "warning"], info: ["note", "off"] };

// IngestCard has what YouTube thinks of the encoder's signal; nothing if nothing is known.
export function IngestCard({ ingest }: { ingest: Ingest | undefined }) {
  const words = text.value.monitor.ingest;
  if (!ingest) return null;
  const word = (kind: "broadcasts" | "streams" | "signals", value: string) => (words[kind] as Record<string, string>)[value] ?? value;
  const good = !ingest.no_data && ["good", "ok"].includes(ingest.signal);
  return (
    <section class="card" aria-labelledby="ingest-title">
      <div class="card-head">
        <h2 id="ingest-title">{words.title}</h2>
        <span class="dim num">{words.asked(clockDay(ingest.asked_at, now.peek()))}</span>
      </div>
      <div class="card-body ingest">
        <p>
          <span class={`word is-${ingest.no_data ? "trouble" : good ? "on_air" : ingest.signal === "bad" ? "warning" : "off"}`}>
            <Glyph name={ingest.no_data ? "fail" : good ? "ok" : ingest.signal === "bad" ? "warning" : "blind"} />
            {ingest.no_data ? words.noData : word("signals", ingest.signal || "noData")}
          </span>
        </p>
        <p class="muted">{[word("broadcasts", ingest.broadcast), ingest.stream && word("streams", ingest.stream)].filter(Boolean).join(" · ")}</p>
        {ingest.issues.length > 0 && (
          <ul>
            {ingest.issues.map((issue) => (
              <li key={issue.type}>
                <span class={`word is-${looks[issue.severity][1]}`}>
                  <Glyph name={looks[issue.severity][0]} />
                  {words.severities[issue.severity]}
                </span>
                <IssueWords issue={issue} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}

// IssueWords say what is wrong and what to do, with the numbers that YouTube tells.
export function IssueWords({ issue }: { issue: IngestIssue }) {
  const { says, do: remedy } = issue.words[language.value];
  return (
    <span class="issue wrap">
      <strong dir="auto">{says}</strong> <span dir="auto">{remedy}</span>
      {issue.description && (
        <small class="dim" dir="auto" lang="en">
          {issue.description}
        </small>
      )}
    </span>
  );
}
