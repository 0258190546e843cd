import { useEffect } from "preact/hooks";
import { text } from "../i18n";
import { retry } from "../live";
import { holder, readHolder } from "../role";
import { asOf, checker, heardAt, isLive, link, now, skew, tick } from "../store";
import { clock, clockDay, duration, number, zone } from "../time";
import { Glyph } from "./Glyph";
import type { BlindSpot } from "../types";
import type { GlyphName } from "./glyphs";
import type { ComponentChildren } from "preact";

// Beyond so much, a clock that is wrong misleads whoever compares times.
const worstSkewMs = 10_000;

// The end of a session is announced so long before.
const announceMs = 24 * 3_600_000;

export function Banners() {
  if (link.value.state === "signed-out") return <SignedOut />;
  if (!isLive.value) return heardAt.value > 0 || link.value.attempts > 0 ? <Lost /> : null;
  const words = text.value.shell;
  const health = checker.value;
  return (
    <>
      {health === null && <Banner glyph="unlink" what={words.database} why={words.databaseText} />}
      {health && health.late > 0 && <Banner glyph="late" what={words.behind} why={words.behindText(number.value.format(health.late), number.value.format(health.watched))} />}
      {health?.blind_spot && <Unseen spot={health.blind_spot} />}
      {Math.abs(skew.value) > worstSkewMs && <Banner glyph="waiting" what={words.skew(duration(Math.round(Math.abs(skew.value) / 1000)))} why={words.skewText} />}
      {holder.value && now.value > holder.value.signInAgainAt - announceMs && <Ending at={holder.value.signInAgainAt} />}
    </>
  );
}

// Unseen says in one sentence what the checker knows of all the streams that it cannot see.
function Unseen({ spot }: { spot: BlindSpot }) {
  const words = text.value.shell;
  const count = (n: number) => number.value.format(n);
  return (
    <Banner
      glyph="blind"
      what={words.unseen[spot.class ?? "unknown"](spot.egress ?? "")}
      why={words.unseenText(count(spot.monitors), count(spot.watched), `${clock(Date.parse(spot.since))} ${zone.value}`)}
    />
  );
}

function Banner({ glyph, what, why, children }: { glyph: GlyphName; what: string; why: string; children?: ComponentChildren }) {
  return (
    <div class="banner is-warning" role="alert">
      <Glyph name={glyph} />
      <p>
        <b>{what}</b> {why}
      </p>
      {children}
    </div>
  );
}

function Lost() {
  const words = text.value.shell;
  const { retryAt, attempts } = link.value;
  const wait = Math.ceil((retryAt - tick.value) / 1000);
  return (
    <Banner glyph="unlink" what={words.lost} why={heardAt.value > 0 ? words.lostText(`${clock(asOf.value)} ${zone.value}`) : ""}>
      <span class="num muted" aria-hidden="true">
        {wait > 0 ? words.retryIn(duration(wait), attempts) : words.retrying}
      </span>
      <button class="btn end" type="button" onClick={retry}>
        {words.tryNow}
      </button>
    </Banner>
  );
}

function SignedOut() {
  return (
    <Banner glyph="key" what={text.value.shell.signedOut} why="">
      <SignInLink />
    </Banner>
  );
}

// Ending says when the session ends. It goes away when somebody signs in again in another tab.
function Ending({ at }: { at: number }) {
  const words = text.value.shell;
  useEffect(() => {
    const asking = setInterval(() => void readHolder(), 60_000);
    return () => clearInterval(asking);
  }, []);
  return (
    <Banner glyph="key" what={words.ending(`${clockDay(at, now.value)} ${zone.value}`)} why={words.endingText}>
      <SignInLink />
    </Banner>
  );
}

function SignInLink() {
  return (
    <a class="btn primary end" href={`/signin?next=${encodeURIComponent(location.pathname + location.search)}`}>
      {text.value.shell.signIn}
    </a>
  );
}
