package acceptance_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/livestream"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

func TestStreamsOfADeadInlineGatewayAreWatchedByAnother(t *testing.T) { // decisions O5, S11, S17
	runTimeline(t, 4, 60*time.Second)
	const streams = 20
	db := database{startDatabase(t, databaseDir(t))}
	t.Cleanup(db.end)
	settings := []string{"DB_DSN=" + db.DSN(), "WORKER_RUNTIME=inline", "EVIDENCE_CAPTURE=off"}
	env := startEnv(t, settings...)
	dying, err := env.StartBeside(t.Context(), testenv.Config{Binary: binary, Env: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dying.Kill)

	stream, err := env.StartStream(t.Context(), newVideoID(), livestream.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range streams {
		id := newVideoID()
		env.YouTube.Broadcast(id, stream)
		env.YouTube.Replay(id)
		if _, err := dying.Register(t.Context(), env.YouTube.URL(id), env.Receiver.URL(), map[string]any{"check_interval_sec": 5}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, startTimeout, "all streams are watched", func() bool { return len(lastChecks(t, env)) == streams })
	if n := countStarts(dying); n != streams {
		t.Fatalf("%d streams are watched at the gateway that is to die, want %d", n, streams)
	}

	waitForHeartbeats(t, db, 2, 5)
	calls, killed := env.YouTube.Count(youtube.Watch, ""), time.Now()
	dying.Kill()
	dead := time.Now()
	eventually(t, 10*time.Second, "all streams are watched again", func() bool {
		again := 0
		for _, at := range lastChecks(t, env) {
			if at.After(dead) {
				again++
			}
		}
		return again == streams
	})
	// On a busy machine the API shows a check seconds later. The requests for media say when it was.
	t.Logf("all watched again %.1f s after the kill", lastFirstSegment(env, dead).Sub(killed).Seconds())
	assertLost(t, env, streams, "the gateway that ran the worker sends no heartbeat any more", func(system.Line) bool { return true })
	if n := env.YouTube.Count(youtube.Watch, "") - calls; n != 0 {
		t.Errorf("yt-dlp was asked %d times, want none: the manifests had not expired", n)
	}
	if n := countStarts(env.Service); n != streams {
		t.Errorf("%d workers were started, want %d", n, streams)
	}
}

// waitForHeartbeats waits until that many gateways have each sent n heartbeats. Then each knows
// the others, because it reads their heartbeats as often as it sends its own.
func waitForHeartbeats(t *testing.T, db database, gateways, n int) {
	t.Helper()
	pool, err := sql.Open("postgres", db.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	eventually(t, startTimeout, "the gateways know each other", func() bool {
		known := 0
		err := pool.QueryRowContext(t.Context(), `SELECT count(*) FROM gateways WHERE heartbeats >= $1`, n).Scan(&known)
		return err == nil && known == gateways
	})
}

// lastFirstSegment returns when the last of the videos that are watched after a time had its first
// segment fetched.
func lastFirstSegment(env *testenv.Env, after time.Time) (last time.Time) {
	fetched := map[string]bool{}
	for _, r := range env.YouTube.Requests() {
		if r.Class == youtube.Segment && r.At.After(after) && !fetched[r.Video] {
			fetched[r.Video], last = true, r.At
		}
	}
	return last
}

// countStarts returns how many workers have begun to watch in a gateway.
func countStarts(s *system.Service) (n int) {
	for _, l := range s.Log() {
		if l.Component == "worker" && strings.HasPrefix(l.Message, "Monitoring started") {
			n++
		}
	}
	return n
}
