package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/officialstates"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

var _ officialstates.Store = (*postgres.Store)(nil)

func TestAWorkerLearnsTheOfficialStateFromTheAnswerToItsReport(t *testing.T) { // S23
	s, db := newStore(t)
	m, other := register(t, s, 1), register(t, s, 2)
	answered := func() *monitor.OfficialState { return must(s.Accept(t.Context(), m.ID, report()))(t).OfficialState }
	store := func(id monitor.ID, status monitor.StreamStatus, age time.Duration) {
		t.Helper()
		check(t, s.StoreOfficialStates(t.Context(), map[monitor.ID]monitor.StreamStatus{id: status}, age))
	}
	store(other.ID, monitor.StreamEnded, 0)
	expect(t, "without one", answered() == nil, true)

	store(m.ID, monitor.StreamUpcoming, 20*time.Second)
	first := answered()
	if first == nil || first.Status != monitor.StreamUpcoming || first.Age() < 20*time.Second || first.Age() > 60*time.Second {
		t.Fatalf("the first is %+v", first)
	}
	store(m.ID, monitor.StreamEnded, 25*time.Second+time.Since(first.AskedAt.Add(first.Age()))) // asked before the first one
	expect(t, "an older one changes nothing", answered().Status, monitor.StreamUpcoming)
	store(m.ID, monitor.StreamLive, 0)
	second := answered()
	expect(t, "the second", second.Status, monitor.StreamLive)
	expect(t, "was asked later", second.AskedAt.After(first.AskedAt), true)

	alter(t, db, `UPDATE official_states SET asked_at = now() - interval '91 seconds'`)
	expect(t, "an old one", answered() == nil, true)
	alter(t, db, `UPDATE official_states SET asked_at = now() - interval '61 minutes'`)
	store(m.ID, monitor.StreamLive, 0)
	expectRows(t, db, `official_states`, 1)
}

func TestStreamsWithoutAWorkerAndPausedOnesAreNotAskedAbout(t *testing.T) { // A10, S23
	s, _ := newStore(t)
	scheduled := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	waits, reserved, watched, ended, paused := registration(1), registration(2), register(t, s, 3), register(t, s, 4), register(t, s, 5)
	for _, m := range []*monitor.Monitor{&waits, &reserved} {
		m.Status, m.Config.ScheduledStartTime = monitor.Waiting, &scheduled
	}
	reserved.ReservedUntil = scheduled
	check(t, s.Insert(t.Context(), waits, unlimited))
	check(t, s.Insert(t.Context(), reserved, unlimited))
	acceptReport(t, s, watched.ID, report(), monitor.Run)
	stopMonitor(t, s, ended.ID)
	pause(t, s, paused.ID, time.Hour)
	got := must(s.OfficialStreams(t.Context(), monitor.YouTube))(t)
	for i := range got {
		got[i].ScheduledStart = got[i].ScheduledStart.UTC()
	}
	expect(t, "the streams", got, []officialstate.Stream{
		{MonitorID: watched.ID, SourceID: watched.StreamURL.ID(), Live: true},
		{MonitorID: waits.ID, SourceID: waits.StreamURL.ID(), ScheduledStart: scheduled},
	})
}

func TestTheUnitsAreCountedAcrossGateways(t *testing.T) { // S23
	s, db := newStore(t)
	expect(t, "at first", must(s.OfficialAccount(t.Context(), monitor.YouTube))(t), officialstate.Account{})
	zone := must(time.LoadLocation(officialstate.Zone))(t)
	now, asked := time.Now(), 0
	begin := func() error { // as two leaders do at once
		return s.ChangeOfficialAccount(t.Context(), monitor.YouTube, func(a *officialstate.Account) {
			asked += len(a.Begin(now, "key", []officialstate.Stream{{MonitorID: "m", SourceID: "v"}}, zone))
		})
	}
	other := holding(t, db, `SELECT FROM official_account FOR UPDATE`)
	wait := inBackground(t, begin)
	eventually(t, "it waits for the other one", func() bool { return waitingForLock(t, db) })
	must(other.ExecContext(t.Context(), `UPDATE official_account SET account = '{"youtube": {"key": "key", "failures": 7}}'`))(t)
	check(t, other.Commit())
	wait()
	check(t, begin())
	account := must(s.OfficialAccount(t.Context(), monitor.YouTube))(t)
	expect(t, "rounds", asked, 1)
	expect(t, "units", account.Used, 1)
	expect(t, "what the other one stored", account.Failures, 7)
	expect(t, "a round is due", account.Due(now.Add(29*time.Second), "key"), false)
}

// uploadsAPI lists no streams of any channel.
type uploadsAPI struct{ calls int }

func (a *uploadsAPI) List(context.Context, string) (channel.Listing, error) {
	a.calls++
	return channel.Listing{By: "data-api"}, nil
}

func TestUploadsAreListedWithinTheUnitsOfAllGateways(t *testing.T) {
	s, _ := newStore(t)
	zone := must(time.LoadLocation(officialstate.Zone))(t)
	api := &uploadsAPI{}
	uploads := officialstates.NewService(s, nil, officialstates.Config{Source: monitor.YouTube, Key: "k", Zone: zone, Now: time.Now, Log: slog.New(slog.DiscardHandler)}).Uploads(api)
	must(uploads.List(t.Context(), "https://www.youtube.com/@a"))(t)
	expect(t, "units", must(s.OfficialAccount(t.Context(), monitor.YouTube))(t).Used, officialstate.UploadsUnits+officialstate.HandleUnits)
	check(t, s.ChangeOfficialAccount(t.Context(), monitor.YouTube, func(a *officialstate.Account) { a.Uploads = officialstate.MaxUploads }))
	_, err := uploads.List(t.Context(), "https://www.youtube.com/@a")
	failure, _ := errors.AsType[*channel.Failure](err)
	if failure == nil || failure.Kind != channel.Refused || api.calls != 1 {
		t.Errorf("%d calls, then %v", api.calls, err)
	}
}

// officialAPI is an API that has every video, each upcoming, unless it refuses the call with this number.
type officialAPI struct {
	calls   []int // ids of each
	refusal map[int]officialstate.Response
}

func (a *officialAPI) Ask(_ context.Context, ids []string) (r officialstate.Response) {
	a.calls = append(a.calls, len(ids))
	if r, refused := a.refusal[len(a.calls)]; refused {
		return r
	}
	r.Status = 200
	for _, id := range ids {
		r.Broadcasts = append(r.Broadcasts, officialstate.Broadcast{ID: id, State: "upcoming"})
	}
	return r
}

func TestTheLeaderAsksAboutAllStreamsAndFallsBackUntilMidnight(t *testing.T) { // S23
	s, db := newStore(t)
	zone := must(time.LoadLocation(officialstate.Zone))(t)
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, zone)
	api := &officialAPI{refusal: map[int]officialstate.Response{
		5: {Status: 503, Detail: "backend"}, 6: {Status: 403, Reasons: []string{"quotaExceeded"}, Detail: "used up"},
	}}
	var log bytes.Buffer
	gateway := func() *officialstates.Service {
		return officialstates.NewService(s, api, officialstates.Config{Source: monitor.YouTube, Name: "YouTube Data API", Key: "k", PerCall: officialstate.PerCall, Zone: zone, Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil))})
	}
	run := func(after time.Duration) {
		t.Helper()
		now = now.Add(after)
		check(t, gateway().Run(t.Context())) // each time another one is the leader
	}
	run(0)
	expect(t, "calls without a stream", len(api.calls), 0)

	for n := range 120 {
		register(t, s, n+1)
	}
	run(0)
	expect(t, "the calls of a round", api.calls, []int{50, 50, 20})
	expectRows(t, db, `official_states WHERE status = 'upcoming'`, 120)
	run(29 * time.Second)
	expect(t, "calls before the next round is due", len(api.calls), 3)
	expect(t, "the log", log.String(), "")

	alter(t, db, `UPDATE official_states SET status = 'before'`)
	run(time.Second)
	expect(t, "calls until one fails", len(api.calls), 5)
	expectRows(t, db, `official_states WHERE status = 'before'`, 70)
	run(31 * time.Second)
	expect(t, "the call after a pause", len(api.calls), 6)
	account := must(s.OfficialAccount(t.Context(), monitor.YouTube))(t)
	expect(t, "units", account.Used, 9) // of three rounds
	expect(t, "the next round is due at midnight", account.NextAt.Equal(time.Date(2026, 6, 2, 0, 0, 0, 0, zone)), true)
	run(11*time.Hour + 58*time.Minute)
	expect(t, "calls until midnight", len(api.calls), 6)
	run(2 * time.Minute)
	expect(t, "calls after midnight", len(api.calls), 9)
	expect(t, "units", must(s.OfficialAccount(t.Context(), monitor.YouTube))(t).Used, 3)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	expect(t, "lines of the log", len(lines), 3)
	for i, words := range []string{`failure=unreachable error="HTTP 503: backend"`, `failure=quota_exceeded error="HTTP 403: used up" next_at=2026-06-02T00:00:00.000-07:00 units_used=9`, "answers again"} {
		if !strings.Contains(lines[i], words) {
			t.Errorf("line %d is %s, without %s", i, lines[i], words)
		}
	}
}
