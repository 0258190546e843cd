import { useSignal } from "@preact/signals";
import type { NotificationWords } from "../i18n";
import { isolated } from "../names";
import { destinations as api, secretNames, type Destination, type DestinationChange, type Field, type KindName } from "../notifications";
import { language } from "../settings";
import type { Routing } from "../routing";
import { Dialog, Input, Select, typed } from "./Dialog";

export function DestinationForm({ words, routing, of }: { words: NotificationWords; routing: Routing; of: Destination | null }) {
  const kindName = useSignal<KindName>(of?.kind ?? "slack");
  const kind = routing.kinds.find((k) => k.kind === kindName.value);
  const fields = kind?.fields ?? [];
  const save = (form: FormData) => {
    const change = changeOf(form, fields, of);
    return of ? api.change(of.destination_id, change) : api.create({ ...change, kind: kindName.value });
  };
  const others = of
    ? [
        { word: of.enabled ? words.disable : words.enable, act: () => api.change(of.destination_id, { enabled: !of.enabled }) },
        { word: words.remove, ask: { title: words.removeTitle(isolated(of.name)), text: words.removeText }, act: () => api.remove(of.destination_id) },
      ]
    : [];
  const fallbacks = routing.destinations.filter((d) => d.destination_id !== of?.destination_id);
  return (
    <Dialog title={of ? of.name : words.add} save={save} others={others}>
      {!of && <Select name="kind" label={words.kind} value={kindName.value} options={routing.kinds.map((k) => [k.kind, words.kinds[k.kind] ?? k.kind])} onChange={(value) => (kindName.value = value as KindName)} />}
      <Input name="name" label={words.name} value={of?.name} required maxLength={100} />
      {fields.map((field) => (
        <FieldInput key={`${kindName.value} ${field.name}`} words={words} field={field} of={of} />
      ))}
      <Select name="language" label={words.language} value={of?.language ?? language.value} options={[["en", "English"], ["ja", "日本語"]]} />
      <Select name="fallback" label={words.fallback} hint={words.fallbackHint} value={of?.fallback ?? ""} options={[["", words.nobody], ...fallbacks.map((d) => [d.destination_id, d.name] as const)]} />
      {!of && <p class="hint dim">{words.afterAdding}</p>}
    </Dialog>
  );
}

function FieldInput({ words, field, of }: { words: NotificationWords; field: Field; of: Destination | null }) {
  const isSet = field.secret && of !== null && secretNames(of).includes(field.name);
  const { label, hint } = field.words[language.value];
  return (
    <Input
      name={`field.${field.name}`}
      of={`${field.secret ? "secrets" : "config"}.${field.name}`}
      label={field.required ? label : words.optional(label)}
      hint={hint}
      example={field.example}
      value={field.secret ? "" : of?.config[field.name]}
      required={field.required && !isSet}
      type={field.secret ? "password" : "text"}
      placeholder={isSet ? words.secretKept : words.suchAs(field.example)}
    />
  );
}

// changeOf leaves out a secret that is not typed: the one before stays. An empty field is removed.
function changeOf(form: FormData, fields: Field[], of: Destination | null): DestinationChange {
  const config: Record<string, string | null> = {};
  const secrets: Record<string, string | null> = {};
  for (const { name, secret } of fields) {
    const value = typed(form, `field.${name}`);
    if (secret && value) secrets[name] = value;
    if (!secret && value) config[name] = value;
    if (!secret && !value && of?.config[name] !== undefined) config[name] = null;
  }
  return { name: typed(form, "name"), language: typed(form, "language") as "en" | "ja", config, secrets, fallback: typed(form, "fallback") || null };
}
