package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/postgrestest"
	histories "github.com/stream-monitor/stream-monitor/application/history"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
)

// reportAt returns a report at the given second after noon.
func reportAt(second int, video monitor.TrackHealth, minutes ...monitor.Minute) monitor.Report {
	r := report()
	r.At = noon.Add(time.Duration(second) * time.Second)
	r.Health.Video, r.Minutes = video, minutes
	return r
}

// minuteAt returns the minute of noon, as it was measured by a worker since that second.
func minuteAt(since, n int, luma float64) monitor.Minute {
	return monitor.Minute{
		At: noon, Since: noon.Add(time.Duration(since) * time.Second),
		Luma:  monitor.Range{Min: luma, Mean: luma, Max: luma, N: n},
		Level: monitor.Range{Min: -30, Mean: -20, Max: -10, N: n},
	}
}

// minuteAfter returns a minute some time after noon.
func minuteAfter(after time.Duration, n int, luma float64) monitor.Minute {
	m := minuteAt(0, n, luma)
	m.At, m.Since = m.At.Add(after), m.Since.Add(after)
	return m
}

// foundHistory is the history of a monitor, as it was passed to a visitor.
type foundHistory struct {
	histories.MonitorLife

	Spans   []history.Span
	Minutes []monitor.Minute
}

func readHistory(t *testing.T, s *postgres.Store, id monitor.ID, from, to time.Time, width time.Duration) (h foundHistory) {
	t.Helper()
	err := s.MonitorHistory(t.Context(), id, from, to, width, histories.Visitor{
		Begin:  func(m histories.MonitorLife) { h.MonitorLife = m },
		Span:   func(s history.Span) { h.Spans = append(h.Spans, s) },
		Minute: func(m monitor.Minute) { h.Minutes = append(h.Minutes, m) },
	})
	check(t, err)
	return h
}

func monitorHistory(t *testing.T, s *postgres.Store, id monitor.ID) foundHistory {
	t.Helper()
	return readHistory(t, s, id, noon.Add(-time.Hour), noon.Add(time.Hour), 0)
}

// showSpans writes the spans of a lane, the open one last, in seconds after noon.
func showSpans(h foundHistory, lane history.Lane) string {
	var words []string
	slices.SortFunc(h.Spans, func(a, b history.Span) int { return a.From.Compare(b.From) })
	for _, s := range h.Spans {
		if s.Lane == lane {
			words = append(words, fmt.Sprintf("%s %v-%v", s.State, s.From.Sub(noon).Seconds(), s.To.Sub(noon).Seconds()))
		}
	}
	if open, is := h.Current.Lanes[lane]; is {
		words = append(words, fmt.Sprintf("%s %v-", open.State, open.Since.Sub(noon).Seconds()))
	}
	return strings.Join(words, ", ")
}

func TestTheHistoryFollowsTheReports(t *testing.T) {
	s := open(t, database(t))
	begin := registering(t, s)

	t.Run("spans are stored with the report", func(t *testing.T) {
		m := begin()
		for second, video := range []monitor.TrackHealth{monitor.OK, monitor.OK, monitor.Black, monitor.Black, monitor.OK} {
			acceptReport(t, s, m.ID, reportAt(10*second, video), monitor.Run)
			acceptReport(t, s, m.ID, reportAt(10*second, video), monitor.Run) // the answer was lost
		}
		h := monitorHistory(t, s, m.ID)
		expect(t, "video", showSpans(h, history.Video), "ok 0-20, black 20-40, ok 40-")
		expect(t, "stream", showSpans(h, history.Stream), "live 0-")
		if !h.Current.Seen.Equal(noon.Add(40*time.Second)) || !h.EndedAt.IsZero() || !h.CreatedAt.Equal(noon) {
			t.Errorf("the history is %+v", h)
		}
	})

	t.Run("the next worker's first report closes what its predecessor left open", func(t *testing.T) {
		m := begin()
		acceptReport(t, s, m.ID, reportAt(0, monitor.OK), monitor.Run)
		must(s.AdvanceGeneration(t.Context(), m.ID, 1, "here"))(t)
		r := reportAt(300, monitor.OK)
		r.Generation = 2
		if h := monitorHistory(t, s, m.ID); !h.Current.Seen.Equal(noon) {
			t.Errorf("before it, the newest report is of %v", h.Current.Seen)
		}
		acceptReport(t, s, m.ID, r, monitor.Run)
		expect(t, "video", showSpans(monitorHistory(t, s, m.ID), history.Video), "unknown 0-300, ok 300-")
	})

	t.Run("a report that ends the monitor leaves no lane open", func(t *testing.T) {
		m := begin()
		acceptReport(t, s, m.ID, reportAt(0, monitor.OK), monitor.Run)
		r := reportAt(30, monitor.OK)
		r.Status, r.StreamStatus = monitor.Completed, monitor.StreamEnded
		acceptReport(t, s, m.ID, r, monitor.Stop)
		if h := monitorHistory(t, s, m.ID); showSpans(h, history.Video) != "ok 0-30" || len(h.Current.Lanes) != 0 {
			t.Errorf("video: %s, lanes %v", showSpans(h, history.Video), h.Current.Lanes)
		}
	})

	t.Run("a minute is replaced as it grows, and shared by two workers", func(t *testing.T) {
		m := begin()
		for _, minute := range []monitor.Minute{minuteAt(0, 1, 10), minuteAt(0, 3, 20), minuteAt(0, 1, 10), minuteAt(0, 3, 20), minuteAt(40, 2, 99)} {
			acceptReport(t, s, m.ID, reportAt(0, monitor.OK, minute), monitor.Run)
		}
		h := monitorHistory(t, s, m.ID)
		if len(h.Minutes) != 2 || inUTC(h.Minutes[0]) != minuteAt(0, 3, 20) || inUTC(h.Minutes[1]) != minuteAt(40, 2, 99) {
			t.Errorf("the minutes are %+v", h.Minutes)
		}
	})

	t.Run("minutes are merged for wide buckets", func(t *testing.T) {
		m := begin()
		mute := minuteAfter(2*time.Minute, 1, 90)
		mute.Level = monitor.Range{}
		acceptReport(t, s, m.ID, reportAt(0, monitor.OK, minuteAt(0, 1, 10), minuteAt(40, 3, 50), minuteAfter(time.Minute, 2, 30), mute), monitor.Run)
		h := readHistory(t, s, m.ID, noon.Add(-2*time.Minute), noon.Add(4*time.Minute), 2*time.Minute)
		expect(t, "the parts", showParts(h), []string{"12:00:00 10.00 36.67 50.00 6, -30.00 -20.00 -10.00 6", "12:02:00 90.00 90.00 90.00 1, 0.00 0.00 0.00 0"})
	})

	t.Run("an overtaken report adds its minutes alone", func(t *testing.T) {
		m := begin()
		acceptReport(t, s, m.ID, reportAt(20, monitor.OK), monitor.Run)
		acceptReport(t, s, m.ID, reportAt(10, monitor.Black, minuteAt(0, 1, 10)), monitor.Run)
		if h := monitorHistory(t, s, m.ID); len(h.Minutes) != 1 || showSpans(h, history.Video) != "ok 20-" {
			t.Errorf("%d minutes, video: %s", len(h.Minutes), showSpans(h, history.Video))
		}
	})
}

// inUTC returns a minute with its times in UTC, as the tests write them.
func inUTC(m monitor.Minute) monitor.Minute {
	m.At, m.Since = m.At.UTC(), m.Since.UTC()
	return m
}

// An alert must not wait for a history that cannot be stored. It goes on when it can be, and the log says what is missing.
func TestAReportIsStoredWithoutAHistoryThatIsRefused(t *testing.T) {
	for _, table := range []string{"history_minutes", "history_spans", "history_lanes"} {
		t.Run(table, func(t *testing.T) {
			dsn, log := database(t), &logbuffer.Buffer{}
			s := must(postgres.Open(t.Context(), dsn, postgres.Config{MaxConnections: 2, Log: slog.New(slog.NewTextHandler(log, nil))}))(t)
			defer s.Close()
			m := register(t, s, 1)
			acceptReport(t, s, m.ID, reportAt(0, monitor.OK), monitor.Run)
			damage(t, dsn, table, func() {
				r := reportAt(10, monitor.Black, minuteAt(0, 1, 10))
				r.Events = []event.Event{blackout(40)}
				acceptReport(t, s, m.ID, r, monitor.Run)
				expect(t, "the type of the event", leaseOne(t, s).Event.EventType, event.Blackout)
				expect(t, "the picture", getMonitor(t, s, m.ID).Health.Video, monitor.Black)
			})
			if h := monitorHistory(t, s, m.ID); showSpans(h, history.Video) != "ok 0-" || len(h.Minutes) != 0 {
				t.Errorf("video: %s, %d minutes", showSpans(h, history.Video), len(h.Minutes))
			}
			if !log.Contains("history and incidents of a monitor cannot be stored") || !log.Contains(table) {
				t.Errorf("the log says %s", log)
			}
			check(t, s.RetryRecords(t.Context()))
			acceptReport(t, s, m.ID, reportAt(20, monitor.Black, minuteAt(0, 1, 10)), monitor.Run)
			if h := monitorHistory(t, s, m.ID); showSpans(h, history.Video) != "ok 0-20, black 20-" || len(h.Minutes) != 1 {
				t.Errorf("when it is repaired, video: %s, %d minutes", showSpans(h, history.Video), len(h.Minutes))
			}
		})
	}
}

// damage renames a table while something is done.
func damage(t *testing.T, dsn, table string, do func()) {
	t.Helper()
	rename := func(from, to string) {
		check(t, postgrestest.Exec(context.Background(), dsn, `ALTER TABLE `+from+` RENAME TO `+to))
	}
	rename(table, "gone")
	defer rename("gone", table)
	do()
}

// The first report after an outage carries an alert and the minutes of an hour.
func TestTheMinutesOfAReportTakeOneStatement(t *testing.T) {
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	m := register(t, s, 1)
	alter(t, db, `
		CREATE TABLE counted (n INT);
		CREATE FUNCTION count_statement() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO counted VALUES (1); RETURN NULL; END';
		CREATE TRIGGER counts BEFORE INSERT ON history_minutes FOR EACH STATEMENT EXECUTE FUNCTION count_statement()`)
	minutes := []monitor.Minute{minuteAt(3, 9, 90), minuteAt(3, 4, 50), minuteAt(0, 1, 10)} // two of one minute: the larger counts
	for i := range history.MaxReported - len(minutes) {
		minutes = append(minutes, minuteAfter(time.Duration(i+1)*time.Minute, 1, 10))
	}
	acceptReport(t, s, m.ID, reportAt(0, monitor.OK, minutes...), monitor.Run)
	expectRows(t, db, "counted", 1)
	expectRows(t, db, "history_minutes", history.MaxReported-1)
	if h := monitorHistory(t, s, m.ID); !slices.ContainsFunc(h.Minutes, func(got monitor.Minute) bool { return inUTC(got) == minuteAt(3, 9, 90) }) {
		t.Errorf("the minutes are %+v", h.Minutes)
	}
}

func TestStatisticsReadSpansAndAlerts(t *testing.T) {
	s := open(t, database(t))
	a, b := register(t, s, 1), register(t, s, 2)
	for second, video := range []monitor.TrackHealth{monitor.OK, monitor.Black, monitor.OK} {
		acceptReport(t, s, a.ID, reportAt(30*second, video), monitor.Run)
	}
	alert := reportAt(61, monitor.OK)
	alert.Events = []event.Event{blackout(40)}
	acceptReport(t, s, a.ID, alert, monitor.Run)
	acceptReport(t, s, b.ID, reportAt(0, monitor.Black), monitor.Run)
	now := noon.Add(80 * time.Second)
	for id, want := range map[monitor.ID][2]float64{a.ID: {80, 30}, "": {160, 110}} { // seconds watched, and black
		sum := history.NewSummary([]history.Period{{From: noon, To: noon.Add(time.Hour)}})
		check(t, s.SumHistory(t.Context(), histories.Selection{MonitorID: id}, now, sum))
		got := sum.Total
		if seconds := [2]float64{got.Time[history.Watched].Seconds(), got.Time["black"].Seconds()}; seconds != want || got.Alerts != 1 || got.Incidents != 1 || got.ToAlert.Max != 30*time.Second {
			t.Errorf("the totals of %q are %+v", id, got)
		}
	}
	nobody := monitor.NewID(uuid.Must(uuid.NewV7()))
	requireCode(t, s.SumHistory(t.Context(), histories.Selection{MonitorID: nobody}, now, history.NewSummary([]history.Period{{From: noon, To: now}})), monitor.NotFound)
	requireCode(t, s.MonitorHistory(t.Context(), nobody, noon, now, 0, histories.Visitor{}), monitor.NotFound)
	requireCode(t, errorOf(s.Broadcasts(t.Context(), nobody)), monitor.NotFound)
}

// selectAll reads the rows of a query, whose columns are named like the fields of rows.
func selectAll(t *testing.T, db *sql.DB, rows any, query string, args ...any) {
	t.Helper()
	check(t, sqlx.NewDb(db, "postgres").SelectContext(t.Context(), rows, query, args...))
}

// The database sums up spans of several monitors, in periods with times between them, as the domain does one by one.
func TestStatisticsAgreeWithTheSpans(t *testing.T) {
	const monitors, each = 300, 30
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	registerMany(t, s, db, monitors)
	alter(t, db, `
		INSERT INTO history_spans (monitor_id, lane, state, started_at, ended_at)
		SELECT id, lane, state, at, at + (k * 7919 + seq * 31) % 5400 * interval '1.000001 s'
		FROM monitors, (VALUES (0, 'segments', 'ok'), (1, 'segments', 'unknown'), (2, 'video', 'black'), (3, 'audio', 'silent'), (4, 'stream', 'blind')) AS of (turn, lane, state),
			generate_series(1, $2) k CROSS JOIN LATERAL (SELECT $1::timestamptz + k * interval '701.000003 s') AS begun (at)
		WHERE k % 5 = turn`, noon, each)
	alter(t, db, `
		INSERT INTO monitor_events (id, monitor_id, event_type, body, webhook_status, created_at, payload)
		SELECT gen_random_uuid(), id, 'alert.blackout', '{}', 'sent', at, jsonb_build_object('data', jsonb_build_object('started_at', at - (seq % 40 - 5) * interval '1.25 s'))
		FROM monitors, generate_series(1, 5) k CROSS JOIN LATERAL (SELECT $1::timestamptz + k * seq % 290 * interval '1 min 0.000001 s' AS at) AS begun`, noon)
	// Alerts are summed up five days at a time: some are just before, at and after the bounds.
	alter(t, db, `
		INSERT INTO monitor_events (id, monitor_id, event_type, body, webhook_status, created_at, payload)
		SELECT gen_random_uuid(), id, 'alert.blackout', '{}', 'sent', at, jsonb_build_object('data', jsonb_build_object('started_at', at - interval '30 s'))
		FROM (SELECT id FROM monitors ORDER BY seq LIMIT 7) AS first, generate_series(0, 3) k, generate_series(-1, 1) beside
			CROSS JOIN LATERAL (SELECT $1::timestamptz + k * interval '2.5 days' + beside * interval '1 us' AS at) AS begun`, noon)
	alter(t, db, `UPDATE monitors SET labels = '{"team": "a"}' WHERE seq % 3 = 0`)
	var periods []history.Period
	for n := range 5 {
		from := noon.Add(time.Duration(n) * time.Hour)
		periods = append(periods, history.Period{From: from, To: from.Add(time.Duration(30+15*(n%3)) * time.Minute)})
	}
	periods = append(periods, history.Period{From: noon.Add(5 * time.Hour), To: noon.Add(15 * 12 * time.Hour)}) // 7.5 days
	const all = `SELECT id FROM monitors`
	for name, of := range map[string]struct {
		histories.Selection
		ids string // a query
	}{
		"of all":       {histories.Selection{}, all},
		"of one":       {histories.Selection{MonitorID: "mon-00000000000000000000000000000007"}, all + ` WHERE id = 'mon-00000000000000000000000000000007'`},
		"with a label": {histories.Selection{Labels: monitor.Labels{"team": "a"}}, all + ` WHERE seq % 3 = 0`},
	} {
		got, want := history.NewSummary(periods), history.NewSummary(periods)
		check(t, s.SumHistory(t.Context(), of.Selection, noon, got))
		var spans []struct {
			Of monitor.ID
			history.Span
		}
		selectAll(t, db, &spans, `SELECT monitor_id AS of, lane, state, started_at AS from, ended_at AS to FROM history_spans WHERE monitor_id IN (`+of.ids+`)`)
		for _, span := range spans {
			want.AddSpan(span.Of, span.Span)
		}
		var alerts []history.Alert
		selectAll(t, db, &alerts, `SELECT monitor_id AS monitorid, created_at AS at, CAST(payload->'data'->>'started_at' AS timestamptz) AS onset FROM monitor_events WHERE monitor_id IN (`+of.ids+`)`)
		for _, alert := range alerts {
			want.AddAlert(alert)
		}
		same := func(what string, got, want history.Totals) {
			if diff := got.ToAlert.Sum - want.ToAlert.Sum; got.Alerts != want.Alerts || got.ToAlert.N != want.ToAlert.N || diff.Abs() > time.Millisecond || (got.ToAlert.Max-want.ToAlert.Max).Abs() > time.Millisecond {
				t.Errorf("%s, %s: %d alerts, %+v, want %d, %+v", name, what, got.Alerts, got.ToAlert, want.Alerts, want.ToAlert)
			}
			for word, d := range want.Time {
				if diff := got.Time[word] - d; diff.Abs() > time.Millisecond {
					t.Errorf("%s, %s: %s for %v, want %v", name, what, word, got.Time[word], d)
				}
			}
		}
		same("total", got.Total, want.Total)
		for i := range periods {
			same(fmt.Sprint("period ", i), got.Periods[i], want.Periods[i])
		}
		for of := range want.Monitors {
			if got.Monitors[of] == nil {
				got.Monitors[of] = &history.Totals{}
			}
			same(string(of), *got.Monitors[of], *want.Monitors[of])
		}
		if want.Total.Alerts == 0 || want.Total.Time["black"] == 0 || want.Periods[1].Time[history.Watched] == 0 {
			t.Errorf("%s: nothing is compared: %+v", name, want.Total)
		}
	}
}

func TestBroadcastsAreReadFromTheEvents(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	started := event.Event{ID: uuid.Must(uuid.NewV7()).String(), Type: event.StreamStarted, At: noon, Data: event.Started{StartedAt: noon.Add(-time.Hour), DetectedAt: noon}}
	ended := event.Event{ID: uuid.Must(uuid.NewV7()).String(), Type: event.StreamEnded, At: noon, Data: event.Ended{EndedAt: noon.Add(time.Hour), Reason: event.EndedByEndlist}}
	acceptReport(t, s, m.ID, report(started, ended, blackout(40)), monitor.Run)
	found, err := s.Broadcasts(t.Context(), m.ID)
	if from, to := found.Started, found.Ended; err != nil || len(from) != 1 || len(to) != 1 || !from[0].Equal(noon.Add(-time.Hour)) || !to[0].Equal(noon.Add(time.Hour)) {
		t.Errorf("started %v, ended %v, %v", from, to, err)
	}
}

func TestTheExpiredHistoryIsDeletedInBatches(t *testing.T) {
	s := open(t, database(t))
	m := register(t, s, 1)
	for second, video := range []monitor.TrackHealth{monitor.OK, monitor.Black, monitor.OK, monitor.Black, monitor.OK} {
		acceptReport(t, s, m.ID, reportAt(30*second, video, minuteAt(second, 1, 10)), monitor.Run)
	}
	spans, minutes, err := s.DeleteHistory(t.Context(), noon.Add(time.Second), 2)
	if err != nil || spans != 0 || minutes != 2 {
		t.Errorf("%d spans, %d minutes, %v: the spans end later", spans, minutes, err)
	}
	spans, minutes, err = s.DeleteHistory(t.Context(), noon.Add(time.Hour), 100)
	if err != nil || spans != 4 || minutes != 3 {
		t.Errorf("%d spans, %d minutes, %v", spans, minutes, err)
	}
	if h := monitorHistory(t, s, m.ID); showSpans(h, history.Video) != "ok 120-" || len(h.Minutes) != 0 {
		t.Errorf("left: %s, %v", showSpans(h, history.Video), h.Minutes)
	}
}

// showParts writes the luma and level of each part of a timeline.
func showParts(h foundHistory) (parts []string) {
	for _, m := range h.Minutes {
		parts = append(parts, fmt.Sprintf("%s %.2f %.2f %.2f %d, %.2f %.2f %.2f %d", m.At.UTC().Format(time.TimeOnly),
			m.Luma.Min, m.Luma.Mean, m.Luma.Max, m.Luma.N, m.Level.Min, m.Level.Mean, m.Level.Max, m.Level.N))
	}
	slices.Sort(parts)
	return parts
}

func TestMergedMinutesAgreeWithTheMinutes(t *testing.T) {
	s, db := newStore(t)
	a, b := register(t, s, 1), register(t, s, 2)
	var reported []monitor.Minute
	for i := range 55 {
		reported = append(reported, minuteAfter(time.Duration(i)*time.Minute, 1+i%60, float64(40+i*i%97)))
	}
	mute := minuteAfter(7*time.Minute, 30, 200)
	mute.Since, mute.Level = mute.Since.Add(time.Second), monitor.Range{} // of a second worker
	reported = append(reported, mute)
	acceptReport(t, s, a.ID, reportAt(0, monitor.OK, reported...), monitor.Run)
	acceptReport(t, s, b.ID, reportAt(0, monitor.OK, minuteAfter(31*time.Minute, 9, 3)), monitor.Run)

	show := func(width time.Duration) string {
		var all []string
		for _, id := range []monitor.ID{a.ID, b.ID} {
			all = append(all, showParts(readHistory(t, s, id, noon, noon.Add(time.Hour), width))...)
		}
		return strings.Join(all, "\n")
	}
	merge := func(before time.Time) {
		t.Helper()
		for must(s.MergeMinutes(t.Context(), before))(t) {
		}
	}
	ten, twenty := show(10*time.Minute), show(20*time.Minute)
	merge(noon.Add(20 * time.Minute))
	// Between two runs a report comes again, and a late one.
	acceptReport(t, s, a.ID, reportAt(0, monitor.OK, reported...), monitor.Run)
	late := minuteAfter(25*time.Minute, 60, 1)
	late.Since = late.Since.Add(time.Second)
	acceptReport(t, s, a.ID, reportAt(0, monitor.OK, late), monitor.Run)
	if got := show(10 * time.Minute); got == ten || strings.Count(got, "\n") != strings.Count(ten, "\n") {
		t.Errorf("the late minute is missing in\n%s", got)
	}
	must(db.ExecContext(t.Context(), `DELETE FROM history_minutes WHERE since = $1`, late.Since))(t)
	for range 2 {
		merge(noon.Add(40 * time.Minute))
		expect(t, "by ten minutes", show(10*time.Minute), ten)
		expect(t, "by twenty minutes", show(20*time.Minute), twenty)
	}
	expect(t, "merged rows", countRows(t, db, "history_ten_minutes"), 5)
	// Merged minutes are not kept for more than 7 days. Each of them has the values of its ten then.
	for range 2 {
		ofTen := readHistory(t, s, a.ID, noon, noon.Add(time.Hour), 10*time.Minute)
		for _, width := range []time.Duration{time.Minute, 5 * time.Minute} {
			parts := readHistory(t, s, a.ID, noon, noon.Add(time.Hour), width).Minutes
			expectLen(t, "parts", parts, int(55*time.Minute/width))
			for _, part := range parts {
				ten := slices.IndexFunc(ofTen.Minutes, func(m monitor.Minute) bool { return m.At.Equal(part.At.Truncate(10 * time.Minute)) })
				if merged := part.At.Before(noon.Add(40 * time.Minute)); merged && part.Luma.Max != ofTen.Minutes[ten].Luma.Max {
					t.Errorf("in %s the part of %s is %v, want %v", width, part.At, part.Luma, ofTen.Minutes[ten].Luma)
				}
			}
		}
		check(t, errorOf(s.DeleteHistory(t.Context(), noon, 1000)))
	}
	expect(t, "minutes that are left", countRows(t, db, "history_minutes"), 15)
	expect(t, "of merged minutes", show(20*time.Minute), twenty)
	check(t, errorOf(s.DeleteHistory(t.Context(), noon.Add(20*time.Minute), 100)))
	expectRows(t, db, "history_ten_minutes", 3)
}

// A stream that flaps with every report has a million spans in 35 days. The server still sends them when the
// first is visited, so nobody has collected them.
func TestALongHistoryIsNotKeptInMemory(t *testing.T) {
	const spans = 50_000 // many times what the buffers between hold
	s, db := newStore(t)
	m := register(t, s, 1)
	alter(t, db, `
		INSERT INTO history_spans (monitor_id, lane, state, started_at, ended_at)
		SELECT $1, 'video', 'black', at, at + interval '1 s' FROM (SELECT $2::timestamptz + k * interval '1 s' AS at FROM generate_series(0, $3 - 1) k) AS times`, m.ID, noon, spans)
	visited := 0
	check(t, s.MonitorHistory(t.Context(), m.ID, noon, noon.Add(spans*time.Second), 0, histories.Visitor{
		Begin:  func(histories.MonitorLife) {},
		Minute: func(monitor.Minute) {},
		Span: func(history.Span) {
			if visited++; visited == 1 {
				eventually(t, "the server waits until more can be sent", func() bool {
					return countRows(t, db, `pg_stat_activity WHERE datname = current_database() AND wait_event = 'ClientWrite'`) == 1
				})
			}
		},
	}))
	expect(t, "visited spans", visited, spans)
}
