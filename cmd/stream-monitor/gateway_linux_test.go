package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/blob/directory"
	"github.com/stream-monitor/stream-monitor/adapters/blob/s3"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
	"github.com/stream-monitor/stream-monitor/adapters/secretbox"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	publicKey   = "an-api-key-for-tests"
	internalKey = "an-internal-key-for-tests"
)

// recordingLauncher launches no worker, and tells what it is asked for.
type recordingLauncher struct {
	launcher

	asked chan string
}

func (l recordingLauncher) Launch(_ context.Context, spec supervisor.WorkerSpec) error {
	l.asked <- "launch " + string(spec.ID)
	return nil
}

func (l recordingLauncher) Stop(_ context.Context, id monitor.ID) error {
	l.asked <- "stop " + string(id)
	return nil
}

func (l recordingLauncher) Close(ctx context.Context) error {
	l.asked <- "close"
	return l.launcher.Close(ctx)
}

// testGateway is a gateway that runs in this process, without workers.
type testGateway struct {
	*gatewayServer

	t        *testing.T
	launcher recordingLauncher
	running  component
}

// assembleGateway makes the parts of a gateway with a database. Its logs are dropped.
func assembleGateway(t *testing.T, dsn, dir string) (*gatewayServer, *assembly) {
	t.Helper()
	command, err := config.Parse([]string{
		"serve", "--db-dsn=" + dsn, "--data-dir=" + dir, "--worker-runtime=inline", "--callback-allowed-networks=127.0.0.0/8",
		"--api-key=" + publicKey, "--internal-api-key=" + internalKey, "--webhook-signing-key=b", "--listen-addr=127.0.0.1:0", "--internal-listen-addr=127.0.0.1:0",
	}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	g := &gatewayServer{settings: command.(*config.Serve), log: slog.New(slog.DiscardHandler)}
	keys, err := loadKeys(g.settings, g.log)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := secretbox.New(keys.Secrets)
	if err != nil {
		t.Fatal(err)
	}
	store, closeStore, err := openDatabase(t.Context(), forcedShutdown{context.Background()}, g.settings.Database, secrets, "", g.log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeStore)
	g.store, g.sessionKeys = store, keyring.NewSessionKeys(store, newSessionKey)
	g.database = newDatabaseSetup(store, g.sessionKeys, g.log)
	if err := g.database.tryOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.resolving = newResolvingTools(g.settings.Watching, g.log)
	return g, &assembly{gatewayServer: g, keys: keys, log: g.log}
}

func startGateway(t *testing.T, dsn, dir string) *testGateway {
	t.Helper()
	g, a := assembleGateway(t, dsn, dir)
	if err := g.assemble(a.keys, io.Discard, g.log); err != nil {
		t.Fatal(err)
	}
	s := &testGateway{gatewayServer: g, t: t, launcher: recordingLauncher{g.launcher.launcher, make(chan string, 1000)}}
	g.launcher.launcher = s.launcher
	s.running = start(func(ctx context.Context) {
		if err := g.run(ctx, forcedShutdown{context.Background()}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.running.stop)
	return s
}

// isAskedTo waits until the launcher was asked for something.
func (g *testGateway) isAskedTo(what string) {
	g.t.Helper()
	for late := time.After(patience); ; {
		select {
		case got := <-g.launcher.asked:
			if got == what {
				return
			}
		case <-late:
			g.t.Fatalf("the launcher was not asked to %s", what)
		}
	}
}

// request asks the public API, or the internal one as the first worker of a monitor.
func (g *testGateway) request(method, path, mediaType, body string, of monitor.ID) *http.Response {
	g.t.Helper()
	at := g.public
	if strings.HasPrefix(path, "/internal/") {
		at = g.internal
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), 2*patience) // also of the feed
	g.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, "http://"+at.Addr().String()+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set("Content-Type", mediaType)
	r.Header.Set("X-API-Key", publicKey)
	r.Header.Set("X-Internal-API-Key", monitor.NewTokenKey(internalKey).Token(of, 1))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode >= http.StatusBadRequest {
		said, _ := io.ReadAll(answer.Body)
		g.t.Fatalf("%s %s is answered with %d %s", method, path, answer.StatusCode, said)
	}
	return answer
}

func count(t *testing.T, dsn, query string) int {
	t.Helper()
	n, err := postgrestest.Count(t.Context(), dsn, query)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitCount waits until a query counts at least n.
func awaitCount(t *testing.T, dsn, query string, n int) {
	t.Helper()
	for began := time.Now(); count(t, dsn, query) < n; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("it does not count %d: %s", n, query)
		}
	}
}

// TestTheGatewayPutsItsPartsTogether shows what no part shows by itself.
func TestTheGatewayPutsItsPartsTogether(t *testing.T) {
	clearEnvironment(t)
	called := make(chan struct{}, 1000)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		called <- struct{}{}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer receiver.Close()
	isCalled := func(why string) {
		t.Helper()
		select {
		case <-called:
		case <-time.After(patience):
			t.Fatalf("the receiver is not called %s", why)
		}
	}
	dsn, dir := server.Database(t), t.TempDir()
	g := startGateway(t, dsn, dir)
	awaitCount(t, dsn, `SELECT count(*) FROM gateways`, 1) // it has joined the others
	awaitCount(t, dsn, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`, 2)

	feed := bufio.NewScanner(g.request(http.MethodGet, "/api/v1/feed?follow=true&thumbnails=true", "", "", "").Body)
	shows := func(what string) {
		t.Helper()
		for feed.Scan() {
			if strings.Contains(feed.Text(), what) {
				return
			}
		}
		t.Fatalf("the feed ends before %s: %v", what, feed.Err())
	}
	shows("state.replace")
	registered := g.request(http.MethodPost, "/api/v1/monitors", "application/json", `{"stream_url":"https://www.youtube.com/watch?v=abcdefghijk","callback_url":"`+receiver.URL+`"}`, "")
	id := monitor.ID(strings.TrimPrefix(registered.Header.Get("Location"), "/api/v1/monitors/"))
	g.isAskedTo("launch " + string(id))
	shows("monitor.updated")
	var picture bytes.Buffer
	if err := jpeg.Encode(&picture, image.NewGray(image.Rect(0, 0, 16, 9)), nil); err != nil {
		t.Fatal(err)
	}
	g.request(http.MethodPost, "/api/v1/thumbnails/watch", "application/json", `{"monitor_ids":["`+string(id)+`"]}`, "")
	g.request(http.MethodPut, "/internal/v1/monitors/"+string(id)+"/thumbnail?generation=1&taken_at=2024-01-15T10:54:58Z", "image/jpeg", picture.String(), id)
	shows("thumbnail.updated")

	g.request(http.MethodPut, "/internal/v1/monitors/"+string(id)+"/status", "application/json", `{"generation":1,"status":"monitoring","events":[{
		"event_id":"0190a5d0-1c2b-7d8a-9c1d-000000000001","event_type":"stream.started","timestamp":"`+time.Now().Format(time.RFC3339)+`","data":{"started_at":"`+time.Now().Format(time.RFC3339)+`"}}]}`, id)
	isCalled("with the event of a report")
	g.running.stop()
	g.isAskedTo("close")
	awaitCount(t, dsn, `SELECT count(*) FROM monitors WHERE reserved_until IS NOT NULL`, 1) // for another gateway

	if err := postgrestest.Exec(t.Context(), dsn, `UPDATE deliveries SET lease = $1, due_at = now() + interval '1 hour'`, g.launcher.Runtime().ID+" 1"); err != nil {
		t.Fatal(err)
	}
	for len(called) > 0 {
		<-called
	}
	next := startGateway(t, dsn, dir)
	isCalled("although the lease of a gateway that has died lasts")
	for ended := false; !ended; {
		if err := postgrestest.Exec(t.Context(), dsn, `UPDATE deliveries SET tried = 3, due_at = now() WHERE lease IS NULL AND state = 'pending'`); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-next.launcher.asked:
			ended = got == "stop "+string(id) // the worker of a monitor whose callback has failed
		case <-called:
		case <-time.After(patience):
			t.Fatal("the worker of a failed callback is not stopped")
		}
	}
}

// oldRows has something to do for each task of the leader.
//
//go:embed testdata/old.sql
var oldRows string

// TestTheLeaderHasItsTasks runs each of them once where there is something to do for it.
func TestTheLeaderHasItsTasks(t *testing.T) {
	clearEnvironment(t)
	dsn := server.Database(t)
	g, a := assembleGateway(t, dsn, t.TempDir())
	if err := errors.Join(a.makeMonitors(), a.makeServices(t.Context())); err != nil {
		t.Fatal(err)
	}
	const ended, watched, quiet = "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7e", someMonitor, "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7f"
	for n, id := range []monitor.ID{ended, watched, quiet} {
		url := fmt.Sprintf("https://www.youtube.com/watch?v=abcdefghij%d", n)
		if err := g.store.Insert(t.Context(), monitor.Monitor{ID: id, StreamURL: monitor.StreamURL(url), Config: monitor.DefaultConfig(), Status: monitor.Monitoring, Generation: 1}, 10); err != nil {
			t.Fatal(err)
		}
	}
	err := postgrestest.Exec(t.Context(), dsn, strings.NewReplacer("ENDED", "'"+ended+"'", "WATCHED", "'"+watched+"'", "QUIET", "'"+quiet+"'", "OLD", "now() - interval '200 days'").Replace(oldRows))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // what one deletes, another one waits for
		for _, task := range a.tasks {
			if err := task.Run(t.Context()); err != nil {
				t.Errorf("%s: %v", task.Name, err)
			}
		}
	}
	for _, left := range []string{
		"monitors WHERE id = '" + ended + "'", "monitor_events", "history_spans", "evidence", "feed", "audit_entries", "thumbnails", "destinations",
		"monitors WHERE record_tried_at IS NOT NULL", "incidents WHERE state = 'open'",
	} {
		if n := count(t, dsn, "SELECT count(*) FROM "+left); n != 0 {
			t.Errorf("left are %d of %s", n, left)
		}
	}
}

func TestEvidenceIsStoredWhereItsSettingSays(t *testing.T) {
	for setting, want := range map[string]blobStore{"postgres": nil, "dir:" + t.TempDir(): (*directory.Store)(nil), "s3://evidence": (*s3.Store)(nil)} {
		got, err := openBlobStore(config.EvidenceFlags{EvidenceStore: setting, EvidenceS3AccessKey: "a", EvidenceS3SecretKey: "b"}, nil)
		if err != nil || reflect.TypeOf(got) != reflect.TypeOf(want) {
			t.Errorf("with %s it is stored in a %T, %v", setting, got, err)
		}
	}
}
