package postgres_test

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func commits(statement string) bool {
	return strings.HasSuffix(statement, "COMMIT") || strings.Contains(statement, "WITH claimed AS") || // ClaimDue
		strings.Contains(statement, "SET reserved_until = now()\n") || // Release
		strings.Contains(statement, "WITH routed AS") // RouteIncidents
}

// call calls a method and returns its result without ids and times.
type call func(ctx context.Context, s *postgres.Store) (any, error)

// writing has every method that writes: what it appends to the feed, and a function that prepares a call over an
// intact connection.
var writing = map[string]struct {
	feed  []string
	ready func(t *testing.T, s *postgres.Store) call
}{
	"Insert": {[]string{"monitor.updated initializing"}, func(*testing.T, *postgres.Store) call {
		m := registration(1)
		return func(ctx context.Context, s *postgres.Store) (any, error) { return nil, s.Insert(ctx, m, 1) }
	}},
	"InsertIdempotent": {[]string{"monitor.updated initializing"}, func(*testing.T, *postgres.Store) call {
		m, once := registration(1), monitors.IdempotencyKey{Key: monitors.Digest{1}, Request: monitors.Digest{2}}
		return func(ctx context.Context, s *postgres.Store) (any, error) {
			first, err := s.InsertIdempotent(ctx, m, 1, once)
			return first != nil, err
		}
	}},
	"Accept": {[]string{"monitor.updated monitoring", "delivery.updated pending 0", "delivery.updated pending 0", "incident.updated open"}, func(t *testing.T, s *postgres.Store) call {
		return acceptingReport(register(t, s, 1), report(blackout(1), blackout(2)))
	}},
	"Accept of blindness": {[]string{"monitor.updated monitoring"}, func(t *testing.T, s *postgres.Store) call {
		r := report()
		r.Visibility = &monitor.Visibility{LastError: "yt-dlp: no answer", BlindSince: noon}
		return acceptingReport(registerWith(t, s, 1), r)
	}},
	"Accept of another state of a detector": {[]string{"monitor.updated monitoring"}, func(t *testing.T, s *postgres.Store) call {
		return measuringAgain(t, s, monitor.Silent)
	}},
	"Accept of another measurement of a detector": {nil, func(t *testing.T, s *postgres.Store) call {
		return measuringAgain(t, s, monitor.OK)
	}},
	"Accept of a last report": {[]string{"monitor.updated completed", "delivery.updated pending 0", "incident.updated resolved"}, func(t *testing.T, s *postgres.Store) call {
		r := report(blackout(1))
		r.Status = monitor.Completed
		return acceptingReport(register(t, s, 1), r)
	}},
	"End": {[]string{"monitor.updated error", "delivery.updated pending 0", "incident.updated open"}, func(t *testing.T, s *postgres.Store) call {
		m, last := register(t, s, 1), monitorError("as_it_happens")
		return func(ctx context.Context, s *postgres.Store) (any, error) {
			after, err := s.End(ctx, m.ID, monitor.Failed, "as_it_happens", &last, noon)
			return string(after.Status) + after.Reason, err
		}
	}},
	"Record, sent": {[]string{"delivery.updated sent 1"}, func(t *testing.T, s *postgres.Store) call { return recording(t, s, delivered()) }},
	"Record, retry": {[]string{"delivery.updated pending 1"}, func(t *testing.T, s *postgres.Store) call {
		return recording(t, s, retried(time.Minute))
	}},
	"Record, failed": {[]string{"delivery.updated failed 1", "delivery.updated failed 0", "monitor.updated error", "incident.updated open"}, func(t *testing.T, s *postgres.Store) call {
		return recording(t, s, outcomeOf(rejecting, failed))
	}},
	"RouteIncidents": {nil, func(t *testing.T, s *postgres.Store) call {
		addDestination(t, s, notify.Discord, "chat")
		for n := range 3 {
			registerWith(t, s, n, blackout(1), blackout(2))
		}
		return func(ctx context.Context, s *postgres.Store) (any, error) { return s.RouteIncidents(ctx) }
	}},
	"SweepIncidents": {[]string{"incident.updated resolved"}, func(t *testing.T, s *postgres.Store) call {
		registerWith(t, s, 1, trouble(detector.Blackout, hourAgo()), recovery(detector.Blackout, hourAgo(), hourAgo().Add(time.Minute)))
		return func(ctx context.Context, s *postgres.Store) (any, error) { return s.SweepIncidents(ctx, 10) }
	}},
	"Record at a destination, delivered": {nil, func(t *testing.T, s *postgres.Store) call { return recordingAtDestination(t, s, delivered()) }},
	"Record at a destination, retry":     {nil, func(t *testing.T, s *postgres.Store) call { return recordingAtDestination(t, s, retried(time.Minute)) }},
	"Record at a destination, gone": {nil, func(t *testing.T, s *postgres.Store) call {
		addDestination(t, s, notify.Discord, "chat")
		return recordingAtDestination(t, s, isGone())
	}},
	"Redeliver": {[]string{"delivery.updated pending 0"}, func(t *testing.T, s *postgres.Store) call {
		m, e := register(t, s, 1), blackout(1)
		acceptReport(t, s, m.ID, report(e), monitor.Run)
		recordAttempt(t, s, leaseOne(t, s), accepting, sent)
		return func(ctx context.Context, s *postgres.Store) (any, error) { return nil, s.Redeliver(ctx, m.ID, e.ID) }
	}},
	"Promote": {[]string{"monitor.updated initializing"}, func(t *testing.T, s *postgres.Store) call {
		m := register(t, s, 1)
		check(t, s.Release(t.Context(), []supervisor.Reservation{{ID: m.ID, Generation: 1}}))
		r := supervisor.Reservation{ID: m.ID, Generation: 2}
		requireDue(t, s, r)
		return func(ctx context.Context, s *postgres.Store) (any, error) {
			after, err := s.Promote(ctx, r, "here")
			return fmt.Sprint(after.Generation, after.RuntimeID), err
		}
	}},
	"Release": {nil, func(t *testing.T, s *postgres.Store) call {
		m := register(t, s, 1)
		return func(ctx context.Context, s *postgres.Store) (any, error) {
			return nil, s.Release(ctx, []supervisor.Reservation{{ID: m.ID, Generation: 1}})
		}
	}},
	"AdvanceGeneration": {nil, func(t *testing.T, s *postgres.Store) call {
		m := register(t, s, 1)
		return func(ctx context.Context, s *postgres.Store) (any, error) {
			after, err := s.AdvanceGeneration(ctx, m.ID, 1, "here")
			return fmt.Sprint(after.Generation, after.RuntimeID), err
		}
	}},
	"Fail": {[]string{"monitor.updated error", "delivery.updated pending 0", "incident.updated open"}, func(t *testing.T, s *postgres.Store) call {
		m, last := register(t, s, 1), monitorError(event.ReasonWorkerLost)
		return func(ctx context.Context, s *postgres.Store) (any, error) {
			return nil, s.Fail(ctx, m, event.ReasonWorkerLost, last)
		}
	}},
	"AddEvent": {[]string{"delivery.updated pending 0", "incident.updated open"}, func(t *testing.T, s *postgres.Store) call {
		m, e := register(t, s, 1), monitorError(event.ReasonWorkerLost)
		return func(ctx context.Context, s *postgres.Store) (any, error) { return nil, s.AddEvent(ctx, m, e) }
	}},
}

func acceptingReport(m monitor.Monitor, r monitor.Report) call {
	return func(ctx context.Context, s *postgres.Store) (any, error) { return s.Accept(ctx, m.ID, r) }
}

// measuringAgain reports another measurement of a detector whose state was ok, and this state.
func measuringAgain(t *testing.T, s *postgres.Store, state monitor.TrackHealth) call {
	t.Helper()
	measured := func(level float64, state monitor.TrackHealth) monitor.Report {
		r := report()
		r.Health.Conditions = []monitor.DetectorState{{Detector: detector.Silence, State: state, Values: map[string]float64{"level": level}}}
		return r
	}
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, measured(1, monitor.OK), monitor.Run)
	return acceptingReport(m, measured(2, state))
}

func recordingAtDestination(t *testing.T, s *postgres.Store, o delivery.Outcome) call {
	t.Helper()
	hook := addDestination(t, s, notify.Webhook, "hook")
	registerWith(t, s, 1, blackout(1))
	leased := leaseForDestinations(t, s)
	d := leased[slices.IndexFunc(leased, func(d delivery.Delivery) bool { return d.Destination.ID == hook.ID })]
	return func(ctx context.Context, s *postgres.Store) (any, error) {
		recorded, err := s.Record(ctx, d, o)
		return recorded.Disabled, err
	}
}

func recording(t *testing.T, s *postgres.Store, o delivery.Outcome) call {
	t.Helper()
	registerWith(t, s, 1, blackout(1), blackout(2))
	l := leaseOne(t, s)
	return func(ctx context.Context, s *postgres.Store) (any, error) {
		recorded, err := s.Record(ctx, l, o)
		return recorded.EndedMonitor != "", err
	}
}

//go:embed testdata/contents.sql
var selectContents string

// contents returns the content of the database without ids and times.
func contents(t *testing.T, db *sql.DB) string {
	t.Helper()
	return strings.Join(values[string](t, db, selectContents), "\n")
}

// A call appends to the feed what readers see, and nothing when it is repeated.
func TestEveryChangeThatReadersSeeIsAppendedToTheFeed(t *testing.T) {
	for name, c := range writing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db := newStore(t)
			do := c.ready(t, s)
			head := feedHead(t, s, db)
			must(do(t.Context(), s))(t)
			expect(t, "the feed", feedSince(t, s, head), c.feed)
			head = feedHead(t, s, db)
			must(do(t.Context(), s))(t)
			if name != "Promote" { // which readers may see twice
				expectLen(t, "the feed of a repetition", feedSince(t, s, head), 0)
			}
		})
	}
}

// The outcome of a COMMIT whose answer was lost is unknown. A repetition returns the
// right result and leaves the database as a single call does.
func TestARepeatedCallStoresNothingTwice(t *testing.T) {
	for name, c := range writing {
		t.Run(name, func(t *testing.T) {
			s, db := newStore(t)
			want := must(c.ready(t, s)(t.Context(), s))(t)
			wantContents := contents(t, db)
			for lossName, l := range map[string]struct {
				what  loss
				times int
			}{
				"the answer is lost once":              {lostAnswer, 1},
				"the answer is lost until it gives up": {lostAnswer, 4},
				"the request is lost once":             {lostRequest, 1},
			} {
				t.Run(lossName, func(t *testing.T) {
					dsn := database(t)
					do := c.ready(t, open(t, dsn))
					proxied := startProxy(t, dsn)
					s := open(t, proxied.dsn)
					left, atCommit := l.times, false
					proxied.lose(func(statement string) loss {
						if !commits(statement) || left == 0 {
							return noLoss
						}
						left, atCommit = left-1, strings.HasSuffix(statement, "COMMIT")
						return l.what
					})
					have, err := do(t.Context(), s)
					if (err != nil) != (l.times > 1) { // the store repeats the call itself, up to three times
						t.Errorf("the error is %v", err)
					}
					if refused := new(monitor.Error); errors.As(err, &refused) || err != nil && atCommit && !strings.Contains(err.Error(), "outcome unknown") {
						t.Errorf("of an unknown outcome the error is %v", err)
					}
					if err != nil {
						have = must(do(t.Context(), s))(t)
					}
					if proxied.losses() == 0 {
						t.Error("nothing was lost, so nothing was tested")
					}
					expect(t, "the answer", have, want)
					expect(t, "the database", contents(t, raw(t, dsn)), wantContents)
				})
			}
		})
	}
}

func TestARepetitionRespectsChangesSinceTheFirstCall(t *testing.T) {
	// delivered is a monitor with one event, which was sent.
	delivered := func(t *testing.T, s *postgres.Store) (monitor.Monitor, delivery.Delivery) {
		t.Helper()
		m := registerWith(t, s, 1, blackout(1))
		l := leaseOne(t, s)
		recordAttempt(t, s, l, accepting, sent)
		return m, l
	}

	t.Run("a repeated success does not change a redelivered event", func(t *testing.T) {
		s := open(t, database(t))
		m, l := delivered(t, s)
		check(t, s.Redeliver(t.Context(), m.ID, l.ID))
		recordAttempt(t, s, l, accepting, sent)
		expect(t, "the leased delivery", leaseOne(t, s).ID, l.ID)
	})

	t.Run("a repeated redelivery does not change a sent event", func(t *testing.T) {
		dsn := database(t)
		s := open(t, dsn)
		m, l := delivered(t, s)
		proxied := startProxy(t, dsn)
		far := open(t, proxied.dsn)
		broken := false
		proxied.lose(func(statement string) loss {
			switch {
			case strings.HasSuffix(statement, "COMMIT") && !broken:
				broken = true
				return lostAnswer
			case broken && strings.Contains(statement, "FOR UPDATE"):
				if err := deliverAll(t, s); err != nil { // meanwhile
					t.Error(err)
				}
			}
			return noLoss
		})
		check(t, far.Redeliver(t.Context(), m.ID, l.ID))
		expectNoneLeased(t, s)
	})
}
