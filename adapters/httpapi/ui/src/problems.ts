// What is wrong with fields of a request, in words.
import { limits } from "./change";
import { text } from "./i18n";
import { refusalOf, type Refusal } from "./refusals";
import { decimal } from "./time";
import type { Problem } from "./types";

// refusalOfField is what is said of a problem away from its input. A field without a label keeps the API's text.
export function refusalOfField(problem: Problem): Refusal {
  const words = text.value.refusals;
  const label = problem.field ? fieldWord(problem.field) : "";
  if (!label && !(problem.field && kindOf(problem.field) in words.accepted)) return refusalOf(problem);
  const at = refusalAt(problem);
  return label ? { ...at, sentence: words.of(label, at.sentence) } : at;
}

// refusalAt is what is said beside the input of a field: what is accepted there, if its code does not say what is wrong. Which of it a
// URL is not only the API's text says. empty: nothing is typed; example: a value that is accepted.
export function refusalAt({ code, message, field, existing_id }: Problem, empty = false, example = ""): Refusal {
  const words = text.value.refusals;
  const refusal = refusalOf({ code, message, existing_id });
  const suchAs = example && ` ${words.suchAs(example)}`;
  const accepted = (words.accepted as Record<string, string>)[kindOf(field ?? "")];
  if (code === "INVALID_URL") return empty ? { sentence: words.missing, detail: "" } : { sentence: (accepted ?? refusal.sentence) + suchAs, detail: message.replace(`${field}: `, "") };
  if (code !== "INVALID_CONFIG") return refusal;
  const [, least, most] = limits.find(([name]) => field === `config.${name}`) ?? [];
  if (least !== undefined) return { sentence: words.between(decimal(least), decimal(most!)), detail: "" };
  return { sentence: accepted ?? (empty ? words.missing : refusal.sentence + suchAs), detail: "" };
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
