// What the API refuses, in words. Its own text, which is English, is kept where it tells more than the code.
import { limits } from "./change";
import { refusalWords, text } from "./i18n";
import { nameOf } from "./names";
import { monitors } from "./store";
import { decimal } from "./time";
import type { Problem } from "./types";

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
  problems?: Problem[]; // all that is wrong, if fields are to blame
}

// Their texts name what was refused and what is accepted.
const detailed = ["INVALID_URL", "INVALID_CONFIG", "DUPLICATE_MONITOR", "DUPLICATE_CHANNEL", "MAX_MONITORS_EXCEEDED", "MONITOR_ENDED", "BODY_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "UNAVAILABLE", "IDEMPOTENCY_KEY_REUSED", "COOKIE_JAR_IN_USE"];

export function refusalOf({ code, message, field, problems = [], existing_id }: Refused): Refusal {
  if (problems.length > 0) {
    const all = problems.map(refusalOf);
    const existing = all.find((r) => r.existing)?.existing;
    return { sentence: all.map((r) => r.sentence).join(" "), detail: all.map((r) => r.detail).join(" ").trim(), ...(existing && { existing }) };
  }
  const { common } = text.value;
  const words = refusalWords();
  const sentence = (words?.codes as Record<string, string> | undefined)?.[code];
  if (!words || !sentence) return { sentence: `${common.failed}${common.stop}`, detail: message };
  const label = field ? fieldWord(field) : "";
  if (!existing_id && !label && !(field && kindOf(field) in words.accepted)) return { sentence, detail: detailed.includes(code) ? message : "" };
  const at = refusalAt({ code, message, field, existing_id });
  return label ? { ...at, sentence: words.of(label, at.sentence) } : at;
}

// refusalAt is what is said beside the input of a field: what is accepted there, if its code does not say what is wrong. Why a URL is
// refused only the API knows. empty: nothing is typed; example: a value that is accepted.
export function refusalAt({ code, message, field, existing_id }: Refused, empty = false, example = ""): Refusal {
  const words = text.value.refusals;
  const wrong = (words.codes as Record<string, string>)[code] ?? words.codes.INVALID_CONFIG;
  const suchAs = example && ` ${words.suchAs(example)}`;
  if (code === "INVALID_URL") return { sentence: empty ? words.missing : wrong + suchAs, detail: empty ? "" : message.replace(`${field}: `, "") };
  if (existing_id) return { sentence: wrong, detail: "", existing: existingOf(code, existing_id) };
  if (code !== "INVALID_CONFIG") return { sentence: wrong, detail: detailed.includes(code) ? message : "" };
  const [, least, most] = limits.find(([name]) => field === `config.${name}`) ?? [];
  if (least !== undefined) return { sentence: words.between(decimal(least), decimal(most!)), detail: "" };
  const accepted = (words.accepted as Record<string, string>)[kindOf(field ?? "")];
  return { sentence: accepted ?? (empty ? words.missing : wrong + suchAs), detail: "" };
}

// existingOf is the link to what a duplicate is one of.
function existingOf(code: string, id: string): Refusal["existing"] {
  if (code === "DUPLICATE_CHANNEL") return { href: `/channels/${id}`, name: text.value.refusals.showChannel };
  const monitor = monitors.get(id);
  return { href: `/monitors/${id}`, name: monitor ? nameOf(monitor) : id };
}

// kindOf leaves out of the path of a field what differs from one to the next of its kind.
const kindOf = (field: string): string =>
  field
    .replace(/\[\d+\]/g, "")
    .replace(/^match\./, "")
    .replace(/^people\.windows|^windows/, "window")
    .replace(/^(labels|metadata|config\.http_headers)\..*/, "$1");

// fieldWord is the label of a field of a registration, as the forms have it; empty: it has none.
function fieldWord(field: string): string {
  const { channels, monitor, register, notifications } = text.value;
  const labels: Record<string, string> = { channel: channels.address, stream_url: register.url, metadata: monitor.metadata, labels: monitor.labels, name: notifications.name, "config.http_headers": monitor.carried.headers, "config.token_url": monitor.carried.tokenURL };
  return labels[kindOf(field)] ?? (monitor.fields as Record<string, string>)[field.replace(/^config\./, "")] ?? "";
}

// reasonWord says why a monitor failed, a stream ended or its media were missing. A reason of a newer gateway stays as it is.
export function reasonWord(reason: string): string {
  return (refusalWords()?.reasons as Record<string, string> | undefined)?.[reason] ?? reason;
}
