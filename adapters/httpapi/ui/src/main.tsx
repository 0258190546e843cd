import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/parts.css";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { loadWords, text } from "./i18n";
import { startKeyboard } from "./keyboard";
import { startLive, startTitle } from "./live";
import { lazy } from "./parts/lazy";
import { Shell } from "./parts/Shell";
import { Wall } from "./pages/Wall";
import { navigate, path, startRouter } from "./router";
import { readHolder } from "./role";
import { applySettings } from "./settings";
import { link, loaded } from "./store";

const Incidents = lazy(() => import("./pages/Incidents").then((m) => m.Incidents));
const Incident = lazy(() => import("./pages/Incident").then((m) => m.Incident));
const Monitor = lazy(() => import("./pages/Monitor").then((m) => m.Monitor));
const Deliveries = lazy(() => import("./pages/Deliveries").then((m) => m.Deliveries));
const Destinations = lazy(() => import("./pages/Destinations").then((m) => m.Destinations));
const Register = lazy(() => import("./pages/Register").then((m) => m.Register));
const Channels = lazy(() => import("./pages/Channels").then((m) => m.Channels));
const Ended = lazy(() => import("./pages/Ended").then((m) => m.Ended));
const Settings = lazy(() => import("./pages/Settings").then((m) => m.Settings));
const SignIn = lazy(() => import("./pages/SignIn").then((m) => m.SignIn));

function App() {
  const signingIn = path.value === "/signin";
  useEffect(() => {
    if (signingIn) return;
    startLive();
    void readHolder();
  }, [signingIn]);
  // Who has not signed in yet sees the sign-in at once. A page that shows something keeps it, with a banner.
  const turnedAway = link.value.state === "signed-out" && !loaded.value && !signingIn;
  useEffect(() => {
    if (turnedAway) navigate(`/signin?next=${encodeURIComponent(location.pathname + location.search)}`, "replace");
  }, [turnedAway]);
  if (signingIn) return <SignIn />;
  return (
    <Shell>
      <Page />
    </Shell>
  );
}

function Page() {
  switch (path.value.split("/")[1]) {
    case "":
      return <Wall />;
    case "incidents":
      return path.value === "/incidents" ? <Incidents /> : <Incident key={path.value} />;
    case "monitors":
      return <Monitor key={path.value} />;
    case "deliveries":
      return <Deliveries />;
    case "destinations":
      return <Destinations />;
    case "channels":
      return <Channels />;
    case "ended":
      return <Ended />;
    case "register":
      return <Register />;
    case "settings":
      return <Settings />;
    default:
      return <NotFound />;
  }
}

function NotFound() {
  const words = text.value.common;
  return (
    <main class="main" id="main">
      <div class="page-head">
        <h1>{words.notFound}</h1>
      </div>
      <a class="btn" href="/">
        {words.backToWall}
      </a>
    </main>
  );
}

applySettings();
startRouter();
startKeyboard();
if (path.value !== "/signin") startLive(); // the feed connects while the words are loaded
await loadWords();
startTitle();
render(<App />, document.body);
