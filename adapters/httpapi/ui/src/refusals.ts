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
  existing_id?: string;
}

// Their texts name what was refused and what is accepted.
const detailed = ["INVALID_URL", "INVALID_CONFIG", "DUPLICATE_MONITOR", "DUPLICATE_CHANNEL", "MAX_MONITORS_EXCEEDED", "MONITOR_ENDED", "BODY_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "UNAVAILABLE", "IDEMPOTENCY_KEY_REUSED", "COOKIE_JAR_IN_USE"];

export function refusalOf({ code, message, existing_id: existing }: Refused): Refusal {
  const { common } = text.value;
  const sentence = (refusalWords()?.codes as Record<string, string> | undefined)?.[code];
  if (!sentence) return { sentence: `${common.failed}${common.stop}`, detail: message };
  if (!existing) return { sentence, detail: detailed.includes(code) ? message : "" };
  if (code === "DUPLICATE_CHANNEL") return { sentence, detail: "", existing: { href: `/channels/${existing}`, name: refusalWords()!.showChannel } };
  const monitor = monitors.get(existing);
  return { sentence, detail: "", existing: { href: `/monitors/${existing}`, name: monitor ? nameOf(monitor) : existing } };
}

// reasonWord says why a monitor failed, a stream ended or its media were missing. A reason of a newer gateway stays as it is.
export function reasonWord(reason: string): string {
  return (refusalWords()?.reasons as Record<string, string> | undefined)?.[reason] ?? reason;
}
