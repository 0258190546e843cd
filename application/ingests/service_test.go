package ingests_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones on a machine without them

	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/login"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

const token = "1//secret"

// world is a store with one login and a stand-in for the API, at a time.
type world struct {
	now     time.Time
	account officialstate.Account
	login   ingests.Login
	streams []officialstate.Stream
	looks   []ingests.Look
	told    int // rejections

	refused string // reason of the token endpoint
	refusal string // of the lists
	status  int    // of that
	calls   map[string]int
	access  int
	signals []ingest.Signal
}

func (w *world) OpenIngestLogins(context.Context) ([]ingests.Opened, error) {
	return []ingests.Opened{{w.login, token}}, nil
}

func (w *world) OfficialStreams(context.Context, monitor.SourceName) ([]officialstate.Stream, error) {
	return w.streams, nil
}

func (w *world) ChangeOfficialAccount(_ context.Context, _ monitor.SourceName, change func(*officialstate.Account)) error {
	change(&w.account)
	return nil
}

func (w *world) EndIngestLook(_ context.Context, look ingests.Look, end func(*ingests.Login)) error {
	before := w.login.RejectedAt
	end(&w.login)
	if before.IsZero() && !w.login.RejectedAt.IsZero() {
		w.told++
	}
	w.looks = append(w.looks, look)
	return nil
}

func (w *world) Access(_ context.Context, refresh string) (string, time.Duration, officialstate.Response) {
	w.calls["access"]++
	if refresh != token {
		panic("the token is " + refresh)
	}
	if w.refused != "" {
		return "", 0, officialstate.Response{Status: 400, Reasons: []string{w.refused}, Detail: w.refused}
	}
	w.access++
	return fmt.Sprint("ya29.", w.access), time.Hour, officialstate.Response{Status: 200}
}

func (w *world) list(access, name string) officialstate.Response {
	w.calls[name]++
	if w.refusal != "" {
		return officialstate.Response{Status: w.status, Reasons: []string{w.refusal}, Detail: w.refusal}
	}
	if access != fmt.Sprint("ya29.", w.access) {
		return officialstate.Response{Status: 401, Reasons: []string{"authError"}, Detail: "authError"}
	}
	return officialstate.Response{Status: 200}
}

func (w *world) Broadcasts(_ context.Context, access string) ([]ingest.Broadcast, officialstate.Response) {
	return []ingest.Broadcast{{VideoID: "video000001", Status: "live", StreamID: "s1"}, {VideoID: "nobody watch", Status: "live", StreamID: "s2"}}, w.list(access, "broadcasts")
}

func (w *world) Signals(_ context.Context, access string, ids []string) ([]ingest.Signal, officialstate.Response) {
	if strings.Join(ids, ",") != "s1" {
		panic("asked about " + strings.Join(ids, ","))
	}
	return w.signals, w.list(access, "signals")
}

// newWorld returns a world with a service that logs into a buffer.
func newWorld(t *testing.T) (*world, *ingests.Service, *bytes.Buffer) {
	zone := must.Get(time.LoadLocation(officialstate.Zone))(t)
	w := &world{
		now: time.Date(2026, 6, 1, 12, 0, 0, 0, zone), login: ingests.Login{ID: "l", Name: "studio"}, calls: map[string]int{},
		streams: []officialstate.Stream{{MonitorID: "m", SourceID: "video000001"}},
		signals: []ingest.Signal{{StreamID: "s1", Health: ingest.Health{Stream: "active", Signal: "good"}}},
	}
	var log bytes.Buffer
	return w, ingests.NewService(w, w, ingests.Config{Key: "k", Zone: zone, Now: func() time.Time { return w.now }, Log: slog.New(slog.NewTextHandler(&log, nil))}), &log
}

// pass lets time pass, while the service runs as often as the leader does.
func (w *world) pass(t *testing.T, s *ingests.Service, d time.Duration) {
	t.Helper()
	for end := w.now.Add(d); w.now.Before(end); w.now = w.now.Add(officialstate.Tick) {
		must.Do(t, s.Run(t.Context()))
	}
}

func TestTheOwnerIsAskedAsOftenAsTheDayAllows(t *testing.T) { // S24
	w, s, log := newWorld(t)
	w.pass(t, s, 12*time.Hour)
	if n := len(w.looks); n < 1200 || n > 1440 || w.account.Used != 2*n {
		t.Errorf("%d looks in half a day take %d units", n, w.account.Used)
	}
	expect.Equal(t, "access tokens of 59 minutes", w.calls["access"], 13)
	expect.Equal(t, "the newest", w.looks[len(w.looks)-1].Health, map[monitor.ID]ingest.Health{"m": {Broadcast: "live", Stream: "active", Signal: "good"}})
	expect.Equal(t, "the login", []any{w.login.State(), w.login.Streams}, []any{login.Accepted, 1})

	before := w.calls["broadcasts"]
	w.streams = nil
	w.pass(t, s, time.Hour)
	expect.Equal(t, "nothing is asked while nothing is watched", w.calls["broadcasts"], before)
	expect.Equal(t, "logged", log.String(), "")
}

func TestALoginThatIsRejectedIsToldOnceAndTriedAgain(t *testing.T) { // S24
	w, s, log := newWorld(t)
	w.pass(t, s, time.Minute)
	w.refused = "invalid_grant"
	w.pass(t, s, 2*time.Hour)
	expect.Equal(t, "the state", w.login.State(), login.Rejected)
	expect.Equal(t, "told", w.told, 1)
	expect.Equal(t, "the kind of failure", w.login.Failure.Kind, officialstate.LoginRejected)
	if n := w.calls["access"]; n < 6 || n > 20 {
		t.Errorf("Google was asked %d times", n)
	}
	if last := w.looks[len(w.looks)-1]; last.Health != nil {
		t.Errorf("what is known then is %v", last.Health)
	}
	w.refused = ""
	w.pass(t, s, 11*time.Minute)
	expect.Equal(t, "the state", w.login.State(), login.Accepted)
	said := log.String()
	if strings.Count(said, "no longer accepts the login") != 1 || strings.Count(said, "tells again") != 1 || strings.Contains(said, "secret") || strings.Contains(said, "ya29") {
		t.Errorf("logged is %s", said)
	}
}

func TestQuotaThatIsUsedUpStopsTheQuestionsUntilMidnight(t *testing.T) { // S24
	w, s, _ := newWorld(t)
	w.refusal, w.status = "quotaExceeded", 403
	w.pass(t, s, 11*time.Hour)
	expect.Equal(t, "asked", w.calls["broadcasts"], 1)
	expect.Equal(t, "the units", w.account.Used, officialstate.UnitsPerDay)
	w.refusal = ""
	w.pass(t, s, 2*time.Hour)
	expect.Equal(t, "the state after midnight", w.login.State(), login.Accepted)
}

func TestAnAccessTokenThatIsNoMoreIsReplaced(t *testing.T) { // S24
	w, s, _ := newWorld(t)
	w.pass(t, s, time.Minute)
	w.access++ // the one that the service has is no more
	w.pass(t, s, 2*time.Minute)
	expect.Equal(t, "the state", w.login.State(), login.Accepted)
	expect.Equal(t, "the failure", w.login.Failure, nil)
}
