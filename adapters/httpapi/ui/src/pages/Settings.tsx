import "../styles/settings.css";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { run } from "../actions";
import { session } from "../api";
import { holder } from "../role";
import { text } from "../i18n";
import { Choice } from "../parts/Choice";
import { CookieJars } from "../parts/CookieJars";
import { Glyph } from "../parts/Glyph";
import { IngestLogins } from "../parts/IngestLogins";
import { keysOpen } from "../parts/Keys";
import { SoundFields } from "../parts/SoundFields";
import { keysOn, language, name, theme } from "../settings";
import { useService } from "../service";
import type { Service as ServiceInfo } from "../types";
import { now } from "../store";
import { clockDay, number, wholeDuration, zone } from "../time";
import { useTitle } from "../title";
import type { OfficialRounds, Pushes, YouTubeAPI } from "../types";

export function Settings() {
  const words = text.value.settings;
  useTitle(words.title);
  return (
    <main class="main" id="main">
      <div class="page-head">
        <h1>{words.title}</h1>
      </div>
      <div class="settings">
        <section class="card" aria-labelledby="here-title">
          <div class="card-head">
            <h2 id="here-title">{words.here}</h2>
            <span class="dim">{words.hereHint}</span>
          </div>
          <div class="card-body form">
            <Choice label={words.language} value={language.value} options={[["en", "English"], ["ja", "日本語"]]} onChange={(to) => (language.value = to)} />
            <Choice label={words.theme} value={theme.value} options={Object.entries(words.themes) as ["auto" | "light" | "dark", string][]} onChange={(to) => (theme.value = to)} />
            <div class="field">
              <label for="your-name">{words.name}</label>
              <input id="your-name" class="input" maxLength={100} autocomplete="nickname" value={name.value} onInput={(e) => (name.value = e.currentTarget.value)} />
              <p class="hint">{words.nameHint}</p>
            </div>
            <Choice label={words.keys} hint={words.keysHint} value={keysOn.value} options={[[true, words.on], [false, words.off]]} onChange={(on) => (keysOn.value = on)}>
              <button class="btn quiet" type="button" onClick={() => (keysOpen.value = true)}>
                {words.keysList}
              </button>
            </Choice>
            <SoundFields />
          </div>
        </section>
        <Session />
        <CookieJars />
        <IngestLogins />
        <Service />
      </div>
    </main>
  );
}

function Service() {
  const words = text.value.settings;
  const service = useService();
  return (
    <section class="card" aria-labelledby="service-title">
      <div class="card-head">
        <h2 id="service-title">{words.service}</h2>
        <a class="btn quiet end" href="/openapi.yaml" target="_blank" rel="noopener">
          {words.api}
        </a>
      </div>
      <div class="card-body service" aria-busy={service === undefined}>
        {service === undefined && <p class="muted">{text.value.common.loading}</p>}
        {service === null && <p class="muted">{words.noService}</p>}
        {service && (
          <>
            <Facts facts={[field("version", service.version), field("timezone", service.timezone), field("worker_runtime", service.worker_runtime)]} />
            <Group title={words.groups.tools} facts={Object.entries(service.tools).map(([name, tool]) => [name, toolFact(tool)])} />
            <Group title={words.groups.limits} facts={Object.entries(service.limits).map(([key, value]) => field(key, value))} />
            {service.egress && <Group title={words.groups.egress} facts={service.egress.map((a) => [`${a.name} · ${a.source}`, a.rest_sec > 0 ? words.egressRests(Math.ceil(a.rest_sec / 60)) : words.egressUsed(a.streams, a.questions)])} />}
            {service.youtube_api && <Group title={words.groups.youtubeAPI} facts={[unitsFact(service.youtube_api), ...apiFacts(service.youtube_api)]} />}
            {service.twitch_api && <Group title={words.groups.twitchAPI} facts={apiFacts(service.twitch_api)} />}
            {service.eventsub && <Group title={words.groups.pushes} facts={pushFacts(service.eventsub)} />}
            <Group title={words.groups.retention} facts={Object.entries(service.retention).map(([key, value]) => field(key, value))} />
          </>
        )}
      </div>
    </section>
  );
}

type Fact = [string, string];

function toolFact({ version, age_days, outdated, error }: ServiceInfo["tools"][string]): string {
  const words = text.value.settings;
  if (version === null) return `${words.missing}: ${error ?? ""}`;
  if (age_days === null) return version;
  return `${version} · ${outdated ? words.toolOutdated(age_days) : words.toolAge(age_days)}`;
}

// field names a value. A gateway of another version may have fields that this page does not know.
function field(key: string, value: string | number): Fact {
  const words = text.value.settings;
  const name = (words.fields as Record<string, string>)[key] ?? key.replaceAll("_", " ");
  if (key === "timezone" && value === "Local") return [name, words.local];
  if (typeof value === "string") return [name, value || words.none];
  if (key.endsWith("_sec")) return [name, wholeDuration(value)];
  return [name, value === 0 ? words.noLimit : number.value.format(value)];
}

const apiTime = (at: string) => `${clockDay(at, now.peek())} ${zone.value}`;

// unitsFact says how many of the day's units are used.
function unitsFact(api: YouTubeAPI): Fact {
  const words = text.value.settings.officialAPI;
  return [words.units, words.unitsUsed(number.value.format(api.units_used), number.value.format(api.units_per_day), apiTime(api.resets_at))];
}

// apiFacts says about how many streams an official API was asked, and why it gives no answer.
function apiFacts(api: OfficialRounds): Fact[] {
  const words = text.value.settings.officialAPI;
  const facts: Fact[] = [[words.asked, api.asked_at ? words.askedAbout(api.streams, apiTime(api.asked_at)) : words.notYet]];
  if (api.failure) {
    facts.push([words.failure, `${words.kinds[api.failure.kind] ?? api.failure.kind} (${api.failure.detail})`]);
    if (api.next_at) facts.push([words.next, apiTime(api.next_at)]);
  }
  return facts;
}

// pushFacts says what Twitch pushes, and why not all.
function pushFacts(p: Pushes): Fact[] {
  const words = text.value.settings.pushes;
  const facts: Fact[] = [[words.way, p.transport === "webhook" ? words.webhook : p.connected_at ? words.socket(apiTime(p.connected_at)) : words.noSocket]];
  facts.push([words.subscriptions, p.missing > 0 ? words.missing(p.subscriptions, p.missing) : String(p.subscriptions)]);
  facts.push([words.newest, p.message_at ? apiTime(p.message_at) : words.none]);
  if (p.unknown_logins.length > 0) facts.push([words.unknown, p.unknown_logins.join(", ")]);
  if (p.failure) facts.push([words.failure, p.failure]);
  return facts;
}

function Group({ title, facts }: { title: string; facts: Fact[] }) {
  return (
    <div>
      <h3>{title}</h3>
      <Facts facts={facts} />
    </div>
  );
}

function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="num">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Session() {
  const words = text.value.settings;
  const until = useSignal<{ expires_at: string; sign_in_again_at: string } | null | undefined>(undefined);
  useEffect(() => {
    session.read().then((read) => (until.value = read), () => (until.value = null));
  }, []);
  const time = (at: string) => `${clockDay(at, now.peek())} ${zone.value}`;
  const signOut = () =>
    run(async () => {
      await session.signOut();
      location.assign("/signin");
    });
  return (
    <section class="card" aria-labelledby="session-title">
      <div class="card-head">
        <h2 id="session-title">{words.session}</h2>
      </div>
      <div class="card-body actions">
        {holder.value && <p>{words.signedInWith(holder.value.name, text.value.common.roles[holder.value.role])}</p>}
        <p class="muted">{until.value ? words.signedInUntil(time(until.value.expires_at), time(until.value.sign_in_again_at)) : until.value === null ? words.byOther : ""}</p>
        <button class="btn end" type="button" onClick={() => void signOut()}>
          <Glyph name="key" />
          {words.signOut}
        </button>
      </div>
    </section>
  );
}
