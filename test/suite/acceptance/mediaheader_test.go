package acceptance_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
)

// The values that the origin of the stream requires.
const (
	mediaToken  = "tok-5ecretvalue"
	mediaCookie = "c00k-5ecretvalue"
)

// guardedOrigin serves a stream to those who have the header and the cookie, and redirects every second segment to a
// server that must see neither.
type guardedOrigin struct {
	t       *testing.T
	next    http.Handler
	entry   string // which the tool reads too, before it says what is required
	guarded atomic.Int64
	away    atomic.Int64
}

func (o *guardedOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, cookie := r.Header.Get("X-Token"), r.Header.Get("Cookie")
	switch {
	case strings.HasPrefix(r.Host, "elsewhere."):
		if o.away.Add(1); token+cookie+r.Header.Get("Referer") != "" {
			o.t.Errorf("another server gets %q %q", token, cookie)
		}
	case r.URL.Path == "/"+o.entry:
	case token != mediaToken || cookie != "session="+mediaCookie:
		http.Error(w, "403 Forbidden", http.StatusForbidden)
		return
	case o.guarded.Add(1)%2 == 0 && strings.HasSuffix(r.URL.Path, ".ts"):
		http.Redirect(w, r, "https://elsewhere.googlevideo.com"+r.RequestURI, http.StatusFound)
		return
	}
	o.next.ServeHTTP(w, r)
}

// The tool is the real yt-dlp, to whose answer a script adds what another site would require.
func TestMediaThatNeedAHeaderAndACookieAreWatchedAndTheValuesStayHidden(t *testing.T) { // section 5.5
	runTimeline(t, 1)
	ytdlp := toolPath(t, "yt-dlp")
	tool := writeScript(t, fmt.Sprintf(`%q "$@" | %q -c '
import json, sys
v = json.load(sys.stdin)
for f in v.get("formats") or []:
    f.setdefault("http_headers", {})["X-Token"] = "%s"
    f["cookies"] = "session=%s; Domain=manifest.googlevideo.com; Path=/; Secure"
print(json.dumps(v))'`, ytdlp, filepath.Join(filepath.Dir(ytdlp), "python"), mediaToken, mediaCookie))
	db := newDatabase(t)
	env := startEnv(t, "YTDLP_PATH="+tool, "TOOL_FILES=off", "LOG_LEVEL=debug", db.dsn())
	stream := must.Get(env.Library.Start(t.Context(), livestream.Config{Preroll: time.Minute, Packaging: livestream.Packaging{Keys: livestream.OneKey}}))(t)
	origin := &guardedOrigin{t: t, next: stream.Handler(), entry: stream.Entry()}
	v := newVideoID()
	env.YouTube.Add(v, youtube.Video{State: youtube.Live, Origin: &youtube.Origin{Handler: origin, HLS: stream.Entry()}})
	id := env.Register(t, v, fastConfig())
	env.WaitEvent(t, id, scenario.Started, scenario.StartTimeout)
	stream.Black(true)
	env.WaitEvent(t, id, scenario.Blackout, time.Minute)
	stream.Black(false)
	env.WaitEvent(t, id, scenario.BlackoutRecovered, time.Minute)
	if origin.away.Load() == 0 {
		t.Error("no segment was redirected")
	}

	pool := must.Get(sql.Open("postgres", db.DSN()))(t)
	defer func() { _ = pool.Close() }()
	if n := rows(t, pool, `SELECT count(*) FROM monitors WHERE snapshot IS NOT NULL`); n != 1 {
		t.Errorf("%d snapshots are stored", n)
	}
	hidden{"the header field": mediaToken, "the cookie": mediaCookie}.searchAll(t, env, db, "ran yt-dlp", env.Service)
}

func rows(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	must.Do(t, db.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}
