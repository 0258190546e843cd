import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Actions } from "../actions";
import { text } from "../i18n";
import { onKey } from "../keyboard";
import { enterRoom } from "../room";
import { navigate, path, query, setQuery } from "../router";
import { language, sound, soundBlocked, theme, type Theme } from "../settings";
import { toggleSound } from "../sound";
import { heardAt, isLive, now, unowned } from "../store";
import { clock, shortDay, zone } from "../time";
import { Banners } from "./Banners";
import { Glyph } from "./Glyph";
import { keysOpen, Keys } from "./Keys";
import { Selected } from "./SelectButton";
import type { GlyphName } from "./glyphs";

export function Shell({ children }: { children: ComponentChildren }) {
  useEffect(() => {
    const ends = [onKey("g w", () => navigate("/")), onKey("g i", () => navigate("/incidents")), onKey("g d", () => navigate("/deliveries")), onKey("g c", () => navigate("/channels"))];
    return () => ends.forEach((end) => end());
  }, []);
  return (
    <div class="app">
      <a class="skip" href="#main">
        {text.value.shell.skip}
      </a>
      <Top />
      <Banners />
      {children}
      <Foot />
      <Selected />
      <TabBar />
      <Keys />
      <Actions />
    </div>
  );
}

type PageName = "wall" | "incidents" | "deliveries" | "destinations" | "channels" | "register" | "settings";
const pages: [string, PageName, GlyphName][] = [
  ["/", "wall", "wall"],
  ["/incidents", "incidents", "trouble"],
  ["/deliveries", "deliveries", "send"],
  ["/destinations", "destinations", "chat"],
  ["/channels", "channels", "list"],
  ["/register", "register", "plus"],
  ["/settings", "settings", "dots"],
];

function isCurrent(to: string): boolean {
  return path.value === to || (to !== "/" && path.value.startsWith(`${to}/`));
}

function Links({ of = pages }: { of?: typeof pages }) {
  const words = text.value.shell;
  return of.map(([to, name, glyph]) => (
    <a key={to} href={to} aria-current={isCurrent(to) ? "page" : undefined}>
      <Glyph name={glyph} />
      {words[name]}
      {name === "incidents" && <Badge />}
    </a>
  ));
}

// Badge counts what nobody has.
export function Badge() {
  if (unowned.value === 0) return null;
  const words = text.value.shell.nobodyHas(unowned.value);
  return (
    <span class="badge is-trouble" title={words}>
      <span aria-hidden="true">{unowned}</span>
      <span class="hidden-text"> {words}</span>
    </span>
  );
}

function Top() {
  const words = text.value.shell;
  const finding = useSignal(false);
  return (
    <header class="top">
      <a class="brand" href="/" aria-label={words.home}>
        <Logo />
        <span class="not-phone">stream-monitor</span>
      </a>
      <nav class="nav" aria-label={words.pages}>
        <Links />
      </nav>
      <div class="top-end">
        <Find open={finding.value} onClose={() => (finding.value = false)} />
        <button class="icon-btn only-phone" type="button" aria-label={words.search} onClick={() => (finding.value = true)}>
          <Glyph name="search" />
        </button>
        <a class="icon-btn only-phone" href="/settings" aria-label={words.settings}>
          <Glyph name="dots" />
        </a>
        {soundBlocked.value && (
          <button class="btn word is-warning" type="button" onClick={toggleSound}>
            <Glyph name="bellOff" />
            {words.soundBlocked}
          </button>
        )}
        <button class="icon-btn" type="button" aria-pressed={sound.value} aria-label={sound.value ? words.soundOn : words.soundOff} onClick={toggleSound}>
          <Glyph name={sound.value ? "bell" : "bellOff"} />
        </button>
        {path.value === "/" && (
          <button class="icon-btn not-phone" type="button" aria-label={words.room} title={words.room} onClick={enterRoom}>
            <Glyph name="full" />
          </button>
        )}
        <button class="icon-btn" type="button" aria-label={words.theme[theme.value]} title={words.theme[theme.value]} onClick={() => (theme.value = nextTheme(theme.value))}>
          <Glyph name="theme" />
        </button>
        <button class="btn quiet not-phone" type="button" lang={language.value === "ja" ? "en" : "ja"} onClick={() => (language.value = language.value === "ja" ? "en" : "ja")}>
          {words.otherLanguage}
        </button>
        <Clock />
      </div>
    </header>
  );
}

function nextTheme(of: Theme): Theme {
  return of === "auto" ? "light" : of === "light" ? "dark" : "auto";
}

export function Clock() {
  const at = isLive.value ? now.value : heardAt.value || now.value;
  return (
    <p class="clock">
      <b class="num">
        {!isLive.value && heardAt.value > 0 && <small>{text.value.shell.asOf}</small>}
        {clock(at)}
      </b>
      <span>
        {shortDay(at)} {zone}
      </span>
    </p>
  );
}

function Find({ open, onClose }: { open: boolean; onClose: () => void }) {
  const words = text.value.shell;
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => onKey("/", () => input.current?.focus()), []);
  useEffect(() => {
    if (open) input.current?.focus();
  }, [open]);
  const search = (value: string) => (path.value === "/" ? setQuery({ q: value }, "replace") : navigate(`/?q=${encodeURIComponent(value)}`));
  return (
    <label class={open ? "find open" : "find"}>
      <Glyph name="search" />
      <span class="hidden-text">{words.search}</span>
      <input
        ref={input}
        type="search"
        placeholder={words.searchHint}
        value={path.value === "/" ? (query.value.get("q") ?? "") : ""}
        onInput={(e) => !e.isComposing && search(e.currentTarget.value)}
        onCompositionEnd={(e) => search((e.target as HTMLInputElement).value)}
        onBlur={onClose}
      />
      <kbd>/</kbd>
    </label>
  );
}

export function Logo() {
  return (
    <svg viewBox="0 0 26 22" aria-hidden="true">
      <rect class="outline" x="1" y="1" width="24" height="14.6" rx="2" />
      <path class="outline" d="M4.6 8.4h2.2l1.6-3.8 2.6 7.4 2-5.4 1.2 1.8h7.2" />
      <rect class="lamp-on" x="1" y="18.2" width="6.4" height="3" rx=".8" />
      <rect class="lamp-bar" x="8.8" y="18.2" width="16.2" height="3" rx=".8" />
    </svg>
  );
}

function Foot() {
  const words = text.value.shell;
  return (
    <footer class="foot">
      <span>{words.timesIn(`${Intl.DateTimeFormat().resolvedOptions().timeZone} (${zone.value})`)}</span>
      <button type="button" onClick={() => (keysOpen.value = true)}>
        {words.keys} <kbd>?</kbd>
      </button>
      <button class="only-phone" type="button" onClick={() => (language.value = language.value === "ja" ? "en" : "ja")}>
        {words.otherLanguage}
      </button>
    </footer>
  );
}

// TabBar has the pages of a phone. The settings are at its top.
function TabBar() {
  return (
    <nav class="tabbar" aria-label={text.value.shell.pages}>
      <Links of={pages.slice(0, -1)} />
    </nav>
  );
}
