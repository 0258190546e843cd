// What the API refuses, in words. Its own text, which is English, is kept where it tells more than the code.
import { refusalWords, text } from "./i18n";
import { nameOf } from "./names";
import { monitors } from "./store";

export interface Refusal {
  sentence: string;
  detail: string; // English; empty: the sentence says it all
  existing?: { href: string; name: string }; // what is there already
}

export interface Refused {
  code: string;
  message: string;
  field?: string | null; // of the request; null or missing: none, or the API does not tell
  existing_id?: string;
}

// Their texts name what was refused and what is accepted.
const detailed = ["INVALID_URL", "INVALID_CONFIG", "DUPLICATE_MONITOR", "DUPLICATE_CHANNEL", "MAX_MONITORS_EXCEEDED", "MONITOR_ENDED", "BODY_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "UNAVAILABLE", "IDEMPOTENCY_KEY_REUSED", "COOKIE_JAR_IN_USE"];

export function refusalOf({ code, message, field, existing_id: existing }: Refused): Refusal {
  const { common } = text.value;
  const words = refusalWords();
  const sentence = (words?.codes as Record<string, string> | undefined)?.[code];
  if (!words || !sentence) return { sentence: `${common.failed}${common.stop}`, detail: message };
  const said = field ? words.of(fieldWord(field), sentence) : sentence;
  if (!existing) return { sentence: said, detail: detailed.includes(code) ? message : "" };
  if (code === "DUPLICATE_CHANNEL") return { sentence: said, detail: "", existing: { href: `/channels/${existing}`, name: words.showChannel } };
  const monitor = monitors.get(existing);
  return { sentence: said, detail: "", existing: { href: `/monitors/${existing}`, name: monitor ? nameOf(monitor) : existing } };
}

// fieldWord is the label of a field of a registration, as the forms have it.
function fieldWord(field: string): string {
  const { channels, monitor, register } = text.value;
  if (field === "channel") return channels.address;
  if (field === "stream_url") return register.url;
  if (field.startsWith("metadata")) return monitor.metadata;
  if (field.startsWith("labels")) return monitor.labels;
  return (monitor.fields as Record<string, string>)[field.replace(/^config\./, "")] ?? field;
}

// reasonWord says why a monitor failed, a stream ended or its media were missing. A reason of a newer gateway stays as it is.
export function reasonWord(reason: string): string {
  return (refusalWords()?.reasons as Record<string, string> | undefined)?.[reason] ?? reason;
}
