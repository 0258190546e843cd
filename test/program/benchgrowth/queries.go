package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/application/record"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/history"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/plans"
)

// A statement is marked if it reads more than manyRows rows, and more than readPerRow for each
// that it returns or changes. A row of a list is joined from three tables.
const (
	manyRows   = 200
	readPerRow = 5
)

// query is a call of the store whose statements are explained.
type query struct {
	name string
	call func(context.Context, *postgres.Store) error
}

// explainQueries calls the store as gateways do, and prints a table of the statements, by their
// plans of the second call.
func explainQueries(ctx context.Context, dsn string, db *sql.DB, log *plans.Log, out io.Writer) (err error) {
	queries, err := queriesOf(ctx, db)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, plans.ExplainAll); err != nil {
		return err
	}
	defer func() {
		_, undone := db.ExecContext(ctx, plans.ExplainNone)
		err = errors.Join(err, undone)
	}()
	store, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	marked := 0
	fmt.Fprint(out, "\n| call | reads | rows read | returned or changed | ms |\n|---|---|---|---|---|\n")
	for _, q := range queries {
		for range 2 {
			wait.For(ctx, 100*time.Millisecond) // the log of the call before
			log.Take()
			if err := q.call(ctx, store); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
		}
		wait.For(ctx, 100*time.Millisecond)
		for _, st := range log.Take() {
			w := workOf(st.Plan)
			mark := ""
			if w.read > manyRows && w.read > readPerRow*w.result {
				mark = " **more than it returns**"
				marked++
			}
			fmt.Fprintf(out, "| %s | %s | %.0f%s | %.0f | %.1f |\n", q.name, strings.Join(w.scans, "; "), w.read, mark, w.result, st.Plan.Time)
		}
	}
	fmt.Fprintf(out, "\n%d statements read more than %d rows, and more than %d for each that they return or change\n", marked, manyRows, readPerRow)
	return nil
}

// work is what a statement has done.
type work struct {
	scans  []string
	read   float64 // rows of tables and entries of indexes
	result float64 // rows that it returned or changed
}

func workOf(p plans.Node) work {
	w := work{result: p.Rows}
	w.add(p)
	return w
}

func (w *work) add(p plans.Node) {
	rows := (p.Rows + p.Removed) * p.Loops
	switch {
	case p.Type == "ModifyTable":
		if len(p.Plans) > 0 {
			w.result = max(w.result, p.Plans[0].Rows)
		}
	case p.Type == "Bitmap Index Scan":
		w.scans = append(w.scans, fmt.Sprintf("%s %.0f", p.Index, rows))
	case p.Relation != "":
		w.read += rows
		how := p.Index
		switch {
		case p.Type == "Seq Scan":
			how = p.Relation + " as a whole"
		case how == "":
			how = p.Relation
		case p.Type == "Index Only Scan":
			how += " alone"
		}
		w.scans = append(w.scans, fmt.Sprintf("%s %.0f", how, rows))
	}
	for _, child := range p.Plans {
		w.add(child)
	}
}

// queriesOf returns the calls, about monitors of the filled database.
func queriesOf(ctx context.Context, db *sql.DB) ([]query, error) {
	var ids []monitor.ID
	var incidentID, eventID string
	rows, err := db.QueryContext(ctx, `SELECT m.id FROM monitors m JOIN incidents i ON i.monitor_id = m.id AND i.state = 'open' WHERE m.generation = 1 ORDER BY m.seq DESC LIMIT 20`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id monitor.ID
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(ids) < 20 {
		return nil, errors.New("fewer than 20 monitors have an open incident: use more monitors")
	}
	err = db.QueryRowContext(ctx, `SELECT (SELECT id FROM incidents WHERE monitor_id = $1 LIMIT 1), (SELECT id FROM monitor_events WHERE monitor_id = $1 LIMIT 1)`, ids[0]).Scan(&incidentID, &eventID)
	if err != nil {
		return nil, err
	}
	return append(lists(ids[0], incidentID, eventID), append(sweeps(), changes(ids, incidentID)...)...), nil
}

func lists(id monitor.ID, incidentID, eventID string) []query {
	listed := func(name string, q registry.MonitorQuery) query {
		q.Limit = 51
		return query{name, func(ctx context.Context, s *postgres.Store) error { _, _, err := s.List(ctx, q); return err }}
	}
	incidents := func(name string, f record.IncidentFilter) query {
		f.Limit = 51
		return query{name, func(ctx context.Context, s *postgres.Store) error { _, err := s.ListIncidents(ctx, f); return err }}
	}
	deliveries := func(name string, q registry.DeliveryQuery) query {
		q.Limit = 51
		return query{name, func(ctx context.Context, s *postgres.Store) error { _, err := s.Deliveries(ctx, q); return err }}
	}
	day := time.Now().Add(-24 * time.Hour)
	return []query{
		listed("monitors", registry.MonitorQuery{}),
		listed("monitors, offset 50,000", registry.MonitorQuery{Offset: 50_000}),
		listed("monitors, a page by cursor", registry.MonitorQuery{Before: 50_000}),
		listed("monitors that are completed", registry.MonitorQuery{Status: monitor.Completed}),
		listed("monitors that are monitoring", registry.MonitorQuery{Status: monitor.Monitoring}),
		listed("monitors in trouble", registry.MonitorQuery{Trouble: true}),
		listed("monitors that are blind", registry.MonitorQuery{Blind: true}),
		listed("monitors that are live", registry.MonitorQuery{Live: true}),
		listed("monitors with a text", registry.MonitorQuery{Text: "channel 77"}),
		{"a monitor", func(ctx context.Context, s *postgres.Store) error { _, err := s.Get(ctx, id); return err }},
		{"events of a monitor", func(ctx context.Context, s *postgres.Store) error { _, _, err := s.Events(ctx, id, 50, 0); return err }},
		{"events of a monitor, offset 50", func(ctx context.Context, s *postgres.Store) error { _, _, err := s.Events(ctx, id, 10, 50); return err }},
		incidents("incidents", record.IncidentFilter{}),
		incidents("incidents that are open", record.IncidentFilter{State: incident.Open}),
		incidents("incidents of a monitor", record.IncidentFilter{MonitorID: id}),
		incidents("incidents with a condition", record.IncidentFilter{Condition: "black"}),
		incidents("incidents of the last day", record.IncidentFilter{From: day}),
		{"an incident", func(ctx context.Context, s *postgres.Store) error {
			_, _, err := s.GetIncident(ctx, incidentID)
			return err
		}},
		deliveries("deliveries", registry.DeliveryQuery{}),
		deliveries("deliveries that failed", registry.DeliveryQuery{State: registry.DeliveryFailed}),
		deliveries("deliveries that are pending", registry.DeliveryQuery{State: registry.DeliveryPending}),
		deliveries("deliveries of a monitor", registry.DeliveryQuery{MonitorID: id}),
		deliveries("deliveries of an event", registry.DeliveryQuery{EventID: eventID}),
		deliveries("deliveries of an incident", registry.DeliveryQuery{IncidentID: incidentID}),
		{"evidence of a monitor", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.ListEvidence(ctx, record.EvidenceFilter{MonitorID: id, Limit: 50})
			return err
		}},
		{"state for the feed", func(ctx context.Context, s *postgres.Store) error { _, _, err := s.ReadState(ctx); return err }},
		{"entries of the feed", func(ctx context.Context, s *postgres.Store) error { _, err := s.ReadFeed(ctx, 0, 100); return err }},
	}
}

// sweeps are what gateways do by themselves.
func sweeps() []query {
	const age = 90 * 24 * time.Hour
	return []query{
		{"state of the workers, every 5 s", func(ctx context.Context, s *postgres.Store) error { _, err := s.ReadChecker(ctx); return err }},
		{"active monitors, every 5 s", func(ctx context.Context, s *postgres.Store) error { _, err := s.ListActive(ctx); return err }},
		{"reservations that are due", func(ctx context.Context, s *postgres.Store) error {
			_, _, err := s.ClaimDue(ctx, time.Minute)
			return err
		}},
		{"lease of events, none pending", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Outbox.Lease(ctx, 32, time.Minute)
			return err
		}},
		{"next event that is due", func(ctx context.Context, s *postgres.Store) error { _, err := s.Outbox.NextDue(ctx); return err }},
		{"lease of deliveries to destinations", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.DestinationOutbox.Lease(ctx, 32, time.Minute)
			return err
		}},
		{"next delivery that is due", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.DestinationOutbox.NextDue(ctx)
			return err
		}},
		{"leases of an earlier gateway", func(ctx context.Context, s *postgres.Store) error { return s.TakeOverLeases(ctx, "bench") }},
		{"incidents that time changes, every 2 s", func(ctx context.Context, s *postgres.Store) error { _, err := s.SweepIncidents(ctx, 25); return err }},
		{"incidents whose end was lost", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.WatchedIncidents(ctx, 0, 100)
			return err
		}},
		{"minutes that are merged", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.MergeMinutes(ctx, history.SettledBefore(time.Now()))
			return err
		}},
		{"monitors whose events expire", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.ExpiringMonitors(ctx, age, record.EndedMonitor{}, 100)
			return err
		}},
		{"evidence that expires", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.QuarantineSevereEvidence(ctx, 100)
			return err
		}},
		{"entries of the feed that expire", func(ctx context.Context, s *postgres.Store) error {
			_, _, err := s.DeleteFeed(ctx, 72*time.Hour)
			return err
		}},
	}
}

// changes are what workers, receivers and people do.
func changes(ids []monitor.ID, incidentID string) []query {
	next := func() monitor.ID {
		id := ids[0]
		ids = ids[1:]
		return id
	}
	report := func(events ...event.Event) monitor.Report {
		now := time.Now().UTC()
		return monitor.Report{
			Generation: 1, At: now, Status: monitor.Monitoring, StreamStatus: monitor.StreamLive,
			Health: monitor.Health{Video: monitor.OK, Audio: monitor.OK, LastCheckAt: now}, Snapshot: json.RawMessage(`{"mode":"monitoring"}`), Events: events,
		}
	}
	blackout := func() event.Event {
		now := time.Now().UTC()
		return event.Event{ID: uuid.Must(uuid.NewV7()).String(), Type: event.Blackout, At: now, Data: event.Alert{DurationSec: 30, StartedAt: now.Add(-30 * time.Second), ThresholdSec: 30}}
	}
	return []query{
		{"a registration", func(ctx context.Context, s *postgres.Store) error {
			id := monitor.NewID(uuid.Must(uuid.NewV7()))
			now := time.Now().UTC()
			return s.Insert(ctx, monitor.Monitor{
				ID: id, StreamURL: monitor.StreamURL("https://www.youtube.com/watch?v=" + string(id)), CallbackURL: "https://example.com/hook",
				Config: monitor.DefaultConfig(), Status: monitor.Initializing, Generation: 1, CreatedAt: now, UpdatedAt: now,
			}, 1_000_000)
		}},
		{"a report", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Accept(ctx, ids[0], report())
			return err
		}},
		{"a report with an event", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.Accept(ctx, ids[0], report(blackout()))
			return err
		}},
		{"lease of an event, and its success", func(ctx context.Context, s *postgres.Store) error {
			leased, err := s.Outbox.Lease(ctx, 1, time.Minute)
			if err != nil || len(leased) == 0 {
				return errors.Join(err, fmt.Errorf("%d events leased", len(leased)))
			}
			_, err = s.Outbox.RecordAttempt(ctx, leased[0], delivery.Attempt{At: time.Now(), Status: 204}, callback.Decision{Delivered: true})
			return err
		}},
		{"a note at an incident", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.ActOnIncident(ctx, incidentID, record.IncidentAction{OpID: uuid.NewString(), Kind: incident.Noted, By: "ann", Text: "the encoder hangs"})
			return err
		}},
		{"the next generation of a worker", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.AdvanceGeneration(ctx, next(), 1, "bench")
			return err
		}},
		{"the end of a monitor", func(ctx context.Context, s *postgres.Store) error {
			_, err := s.End(ctx, next(), monitor.Stopped, "", nil, time.Now().UTC())
			return err
		}},
	}
}
