package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// queriesOf returns a query for each method of the store, or several.
func queriesOf(s *sample) (all []query) {
	for _, some := range [][]query{
		monitorLists(s), registrations(s), workers(s), reservations(s), reports(s), membership(),
		events(s), outbox(s),
		incidentQueries(s), subjects(s), evidenceQueries(s), evidenceSweeps(s), blobs(), historyQueries(s), expiries(s), feeds(s),
		destinations(s), routes(s), silences(s), keys(s), thumbnails(s), rateLimits(),
	} {
		all = append(all, some...)
	}
	return all
}

func monitorLists(s *sample) []query {
	listed := func(name string, q monitors.MonitorQuery) query {
		q.Limit = 51
		return query{"MonitorStore.List", name, nil, func(ctx context.Context, s *postgres.Store) error { _, _, err := s.List(ctx, q); return err }}
	}
	return []query{
		listed("monitors", monitors.MonitorQuery{}),
		listed("monitors, offset 50,000", monitors.MonitorQuery{Offset: 50_000}),
		listed("monitors, a page by cursor", monitors.MonitorQuery{Before: 50_000}),
		listed("monitors that are completed", monitors.MonitorQuery{Status: monitor.Completed}),
		listed("monitors that are monitoring", monitors.MonitorQuery{Status: monitor.Monitoring}),
		listed("monitors that wait", monitors.MonitorQuery{Status: monitor.Waiting}),
		listed("monitors in trouble", monitors.MonitorQuery{Trouble: true}),
		listed("monitors that are blind", monitors.MonitorQuery{Blind: true}),
		listed("monitors that are live", monitors.MonitorQuery{Live: true}),
		listed("monitors with a text", monitors.MonitorQuery{Text: "channel 77"}),
		{"MonitorStore.Get", "a monitor", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Get(ctx, s.monitorID); return err }},
		{"MonitorStore.ActiveStreams", "which of some streams are watched", nil, func(ctx context.Context, st *postgres.Store) error {
			_, _, err := st.ActiveStreams(ctx, []monitor.StreamURL{s.streamURL, "https://www.youtube.com/watch?v=none"})
			return err
		}},
	}
}

func registrations(s *sample) []query {
	const most = 1_000_000 // monitors
	var key monitors.IdempotencyKey
	changed := monitor.Monitor{Config: monitor.DefaultConfig(), CallbackURL: "https://example.com/other"}
	return []query{
		{"MonitorStore.Insert", "a registration", nil, func(ctx context.Context, st *postgres.Store) error { return st.Insert(ctx, newMonitor(), most) }},
		{"IdempotencyStore.InsertIdempotent", "a registration that may be repeated", nil, func(ctx context.Context, st *postgres.Store) error {
			key = monitors.IdempotencyKey{Key: newDigest(), Request: newDigest()}
			_, err := st.InsertIdempotent(ctx, newMonitor(), most, key)
			return err
		}},
		{"IdempotencyStore.FindIdempotent", "a registration that was repeated", nil, func(ctx context.Context, st *postgres.Store) error {
			found, err := st.FindIdempotent(ctx, key.Key)
			if err == nil && found == nil {
				err = errors.New("it is not known")
			}
			return err
		}},
		{"SettingsStore.UpdateSettings", "other settings of a monitor", func(context.Context, *postgres.Store) error { changed.ID = s.nextWatched(); return nil },
			func(ctx context.Context, st *postgres.Store) error {
				_, err := st.UpdateSettings(ctx, changed, time.Time{})
				return err
			}},
		{"MonitorStore.End", "the end of a monitor", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.End(ctx, s.nextWatched(), monitor.Stopped, "", nil, time.Now().UTC())
			return err
		}},
	}
}

// workers are what the leader does for the workers.
func workers(s *sample) []query {
	var watched monitor.Monitor
	get := func(ctx context.Context, st *postgres.Store) (err error) {
		watched, err = st.Get(ctx, s.nextWatched())
		return err
	}
	failure := func(terminal bool) event.Event {
		return event.Event{ID: newID(), Type: event.MonitorError, At: time.Now().UTC(), Data: event.MonitorFailure{Reason: "bench", ErrorDetails: "the details", Terminal: terminal}}
	}
	return []query{
		{"SupervisorStore.ListActive", "active monitors, every 5 s", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.ListActive(ctx); return err }},
		{"SupervisorStore.AdvanceGeneration", "the next generation of a worker", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.AdvanceGeneration(ctx, s.nextWatched(), 1, "bench")
			return err
		}},
		{"SupervisorStore.AddEvent", "an event about a monitor", get, func(ctx context.Context, st *postgres.Store) error { return st.AddEvent(ctx, watched, failure(false)) }},
		{"SupervisorStore.Fail", "a monitor that fails", get, func(ctx context.Context, st *postgres.Store) error {
			return st.Fail(ctx, watched, "bench", failure(true))
		}},
	}
}

func reservations(s *sample) []query {
	due := s.prepared(`UPDATE monitors SET reserved_until = now() - interval '1 s' WHERE id IN (SELECT id FROM monitors WHERE status = 'waiting' ORDER BY seq LIMIT 5)`)
	var claimed []supervisor.Reservation
	claim := func(ctx context.Context, st *postgres.Store) (err error) {
		claimed, _, err = st.ClaimDue(ctx, time.Minute)
		if err == nil && len(claimed) == 0 {
			err = errors.New("no reservation is due")
		}
		return err
	}
	claimDue := func(ctx context.Context, st *postgres.Store) error { return errors.Join(due(ctx, st), claim(ctx, st)) }
	return []query{
		{"ReservationStore.ClaimDue", "reservations that are due, none is", nil, func(ctx context.Context, st *postgres.Store) error {
			_, _, err := st.ClaimDue(ctx, time.Minute)
			return err
		}},
		{"ReservationStore.ClaimDue", "reservations that are due", due, claim},
		{"ReservationStore.Promote", "a reservation that gets a worker", claimDue, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.Promote(ctx, claimed[0], "bench")
			return err
		}},
		{"ReservationStore.Release", "monitors that a gateway releases", nil, func(ctx context.Context, st *postgres.Store) error {
			var held []supervisor.Reservation
			for range 5 {
				held = append(held, supervisor.Reservation{ID: s.nextWatched(), Generation: 1})
			}
			return st.Release(ctx, held)
		}},
	}
}

func reports(s *sample) []query {
	accept := func(name string, report func() monitor.Report) query {
		return query{"ReportStore.Accept", name, nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.Accept(ctx, s.monitorID, report())
			return err
		}}
	}
	health := monitor.Black
	return []query{
		accept("a report", func() monitor.Report { return newReport() }),
		accept("a report with an event", func() monitor.Report { return newReport(newBlackout()) }),
		accept("a report with another health and a minute", func() monitor.Report {
			r := newReport()
			r.Health.Video, health = health, r.Health.Video
			luma := monitor.Range{Min: 16, Mean: 100, Max: 235, N: 60}
			r.Minutes = []monitor.Minute{{At: r.At.Truncate(time.Minute), Since: r.At, Luma: luma}}
			return r
		}),
		accept("a report of a worker that sees again", func() monitor.Report {
			r := newReport(event.Event{ID: newID(), Type: event.MonitorError, At: time.Now().UTC(), Data: event.MonitorFailure{Reason: event.ReasonBlind, ErrorDetails: "no route"}})
			r.Visibility = &monitor.Visibility{LastObservedAt: r.At}
			return r
		}),
		{"ReportStore.RetryRecords", "parked monitors, of which there are none", nil, func(ctx context.Context, st *postgres.Store) error { return st.RetryRecords(ctx) }},
	}
}

func membership() []query {
	return []query{
		{"LeaderElection.TryLead", "the election of a leader", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.TryLead(ctx); return err }},
		{"MembershipStore.Heartbeat", "a heartbeat of a gateway", nil, func(ctx context.Context, st *postgres.Store) error { _, err := st.Heartbeat(ctx, "bench"); return err }},
		{"MembershipStore.Leave", "a gateway that leaves", nil, func(ctx context.Context, st *postgres.Store) error { return st.Leave(ctx, "bench") }},
	}
}

func rateLimits() []query {
	const perMin = 100
	var client monitors.Client
	return []query{
		{"RateLimitStore.Allow", "a request of an unknown client", nil, func(ctx context.Context, st *postgres.Store) error {
			client = newDigest()
			_, err := st.Allow(ctx, client, monitors.Querying, perMin)
			return err
		}},
		{"RateLimitStore.Allow", "a request of a client", nil, func(ctx context.Context, st *postgres.Store) error {
			_, err := st.Allow(ctx, client, monitors.Querying, perMin)
			return err
		}},
		{"RateLimitStore.Refund", "a request that is given back", nil, func(ctx context.Context, st *postgres.Store) error {
			return st.Refund(ctx, client, monitors.Querying, perMin)
		}},
	}
}

// requireSome returns an error if a lease has got nothing.
func requireSome(n int, err error) error {
	if err == nil && n == 0 {
		return fmt.Errorf("%d leased", n)
	}
	return err
}
