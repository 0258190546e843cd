package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
)

// sample is what the calls are about, chosen from the filled database.
type sample struct {
	db bench.Database // of statements whose plans are not logged

	monitorID  monitor.ID // it is watched, in trouble, and has minutes of a month
	streamURL  monitor.StreamURL
	incidentID string // the open one of the monitor
	eventID    string
	recoveryID string
	firstSeq   int64 // of the open incidents

	evidenceID, evidenceIncidentID string
	blob                           evidence.Digest

	webhookID, chatID, routeID, silenceID, stormID, keyID, deliveryID string

	routeIDs []string // all but the default route, in their order

	watched []string // monitors in trouble that calls may end
	ended   []string // monitors that have ended, and have events and incidents
}

// chooseSample chooses what no earlier run has changed.
func chooseSample(ctx context.Context, db bench.Database) (*sample, error) {
	s := &sample{db: db}
	var blob []byte
	const untouched = `FROM monitors m JOIN incidents i ON i.monitor_id = m.id AND i.state = 'open' WHERE m.status = 'monitoring' AND m.generation = 1 AND m.revision = 0 AND m.reserved_until IS NULL`
	for _, c := range []struct {
		query string
		into  []any
		args  []any
	}{
		{`SELECT m.id, m.stream_url, i.id ` + untouched + ` ORDER BY m.seq DESC LIMIT 1`, []any{&s.monitorID, &s.streamURL, &s.incidentID}, nil},
		{`SELECT ARRAY(SELECT m.id ` + untouched + ` ORDER BY m.seq LIMIT 200)`, []any{(*pq.StringArray)(&s.watched)}, nil},
		{`SELECT ARRAY(SELECT id FROM monitors WHERE status = 'completed' ORDER BY ended_at LIMIT 20)`, []any{(*pq.StringArray)(&s.ended)}, nil},
		{`SELECT min(seq) FROM incidents WHERE state = 'open'`, []any{&s.firstSeq}, nil},
		{`SELECT id FROM monitor_events WHERE monitor_id = $1 AND event_type = $2 ORDER BY created_at DESC LIMIT 1`, []any{&s.eventID}, []any{&s.monitorID, event.Blackout}},
		{`SELECT id FROM monitor_events WHERE monitor_id = $1 AND event_type = $2 ORDER BY created_at DESC LIMIT 1`, []any{&s.recoveryID}, []any{&s.monitorID, event.BlackoutRecovered}},
		{`SELECT e.id, e.incident_id, f.sha256 FROM evidence e JOIN evidence_files f ON f.evidence_id = e.id WHERE e.incident_id IS NOT NULL ORDER BY e.id DESC LIMIT 1`, []any{&s.evidenceID, &s.evidenceIncidentID, &blob}, nil},
		{`SELECT destination_id, id FROM deliveries WHERE sequence IS NOT NULL AND state = 'delivered' ORDER BY created_at DESC, id DESC LIMIT 1`, []any{&s.webhookID, &s.deliveryID}, nil},
		{`SELECT destination_id FROM deliveries WHERE incident_id = $1`, []any{&s.chatID}, []any{&s.incidentID}},
		{`SELECT ARRAY(SELECT id FROM routes WHERE NOT is_default ORDER BY position)`, []any{(*pq.StringArray)(&s.routeIDs)}, nil},
		{`SELECT id FROM silences WHERE ended_at IS NULL AND ends_at > now() ORDER BY id LIMIT 1`, []any{&s.silenceID}, nil},
		{`SELECT id FROM deliveries WHERE storm IS NOT NULL ORDER BY created_at LIMIT 1`, []any{&s.stormID}, nil},
		{`SELECT id FROM api_keys WHERE revoked_at IS NULL ORDER BY id LIMIT 1`, []any{&s.keyID}, nil},
	} {
		if err := db.QueryRowContext(ctx, c.query, c.args...).Scan(c.into...); err != nil {
			return nil, fmt.Errorf("choose what is queried: %w in %s", err, c.query)
		}
	}
	if len(s.watched) < 50 || len(s.ended) < 10 || len(s.routeIDs) == 0 {
		return nil, errors.New("too few monitors have an open incident: use more monitors, or another directory")
	}
	s.routeID = s.routeIDs[0]
	copy(s.blob[:], blob)
	return s, nil
}

// statement returns a function that executes a statement whose plan is not logged.
func (s *sample) statement(ctx context.Context, text string, args ...any) func() error {
	return func() error { return errorOf(s.db.ExecContext(ctx, text, args...)) }
}

// nextWatched returns a monitor that is watched and that no call before has got.
func (s *sample) nextWatched() monitor.ID { return next(&s.watched) }

// nextEnded returns a monitor that has ended and that no call before has got.
func (s *sample) nextEnded() monitor.ID { return next(&s.ended) }

func next(ids *[]string) monitor.ID {
	id := (*ids)[len(*ids)-1]
	*ids = slices.Delete(*ids, len(*ids)-1, len(*ids))
	return monitor.ID(id)
}

// newID returns a UUIDv7.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// newDigest returns another digest at each call.
func newDigest() (d [32]byte) {
	one, two := uuid.New(), uuid.New()
	return [32]byte(slices.Concat(one[:], two[:]))
}

// newMonitor returns a monitor that is not registered yet.
func newMonitor() monitor.Monitor {
	id := monitor.NewID(uuid.Must(uuid.NewV7()))
	now := time.Now().UTC()
	return monitor.Monitor{
		ID: id, StreamURL: monitor.StreamURL("https://www.youtube.com/watch?v=" + string(id)), CallbackURL: "https://example.com/hook",
		Config: monitor.DefaultConfig(), Metadata: json.RawMessage(`{"operator": "team 1"}`), Status: monitor.Initializing, Generation: 1, CreatedAt: now, UpdatedAt: now,
	}
}

// newReport returns a report of a worker that watches.
func newReport(events ...event.Event) monitor.Report {
	now := time.Now().UTC()
	return monitor.Report{
		Generation: 1, At: now, Status: monitor.Monitoring, StreamStatus: monitor.StreamLive,
		Health:     monitor.Health{Video: monitor.OK, Audio: monitor.OK, LastCheckAt: now},
		Statistics: monitor.Statistics{TotalSegmentsAnalyzed: 400_000}, Events: events, Snapshot: json.RawMessage(`{"mode":"monitoring"}`),
	}
}

// newBlackout returns an alert.
func newBlackout() event.Event {
	now := time.Now().UTC()
	return event.Event{ID: newID(), Type: event.Blackout, At: now, Data: event.Alert{DurationSec: 30, StartedAt: now.Add(-30 * time.Second), ThresholdSec: 30}}
}

// plainSecrets stands for a SECRETS_KEY. It encrypts nothing. Secrets that begin with a space
// count as encrypted with an earlier key.
type plainSecrets struct{}

var _ postgres.Secrets = plainSecrets{}

// Seal implements postgres.Secrets.
func (plainSecrets) Seal(text []byte, _ string) ([]byte, error) { return bytes.TrimSpace(text), nil }

// Open implements postgres.Secrets.
func (plainSecrets) Open(sealed []byte, _ string) (text []byte, current bool, err error) {
	return sealed, !bytes.HasPrefix(sealed, []byte(" ")), nil
}
