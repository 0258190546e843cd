//go:build linux

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

// books is all that is known of a run when it is over.
type books struct {
	plan     plan
	findings []string // of what was looked at on the way

	accounts   []account
	accepted   map[string]bool            // events whose workers were told that they are kept
	deliveries []webhookreceiver.Delivery // all of them, in order
	injected   []injection
	clocks     []setting // in order
	missed     []string
	lives      []life
	deaths     []death

	gatewayTroubles []string
}

// account is the story of one monitor, from all sides.
type account struct {
	number     int
	id         string
	interval   time.Duration
	truth      []episode
	live       time.Time // its stream began to be watched
	registered time.Time
	ended      time.Time
	fetches    []fetch
	stored     []record // in the order of their queue
	status     string
	counted    map[string]float64
	backwards  []string
	history    int // events that the API lists
}

// episode is a stretch of black or silence: as it was, or as it was told.
type episode struct {
	condition string // blackout, silence
	from, to  time.Time
}

// record is an event in the database.
type record struct {
	id, kind, status string
	attempts         int
	body             string
}

// collect reads what there is to know when the play is over.
func (s *site) collect(ctx context.Context, b *books) error {
	b.deliveries = s.sink.All()
	b.accepted = map[string]bool{}
	for _, a := range s.recorder.all() {
		for _, id := range a.events {
			b.accepted[id] = true
		}
	}
	if text, err := os.ReadFile(s.path("books")); err == nil {
		for id := range strings.FieldsSeq(string(text)) {
			b.accepted[id] = true
		}
	}
	for i, m := range s.monitors {
		a := account{
			number: i, id: m.id, interval: time.Duration(m.script.interval) * time.Second,
			live: m.live, registered: m.registered, ended: m.ended, fetches: s.fetches(m),
		}
		for condition, spans := range map[string][]span{"blackout": m.script.black, "silence": m.script.silent} {
			for _, k := range spans {
				a.truth = append(a.truth, episode{condition, s.zero.Add(k.from), s.zero.Add(k.to)})
			}
		}
		if err := s.ask(ctx, func(db *sql.DB) error { return a.read(ctx, db) }); err != nil {
			return fmt.Errorf("read the books of monitor %d: %w", i, err)
		}
		s.look(ctx, m)
		a.counted, a.backwards = m.polls.last, m.polls.backwards
		answer, err := s.call(ctx, http.MethodGet, "/api/v1/monitors/"+m.id+"/events?limit=100", nil)
		if err != nil {
			return fmt.Errorf("read the history of monitor %d: %w", i, err)
		}
		pagination, _ := answer.Body["pagination"].(map[string]any)
		total, _ := pagination["total"].(float64)
		a.history = int(total)
		b.accounts = append(b.accounts, a)
	}
	return nil
}

// read reads what the database holds of a monitor.
func (a *account) read(ctx context.Context, db *sql.DB) error {
	if err := db.QueryRowContext(ctx, `SELECT status FROM monitors WHERE id = $1`, a.id).Scan(&a.status); err != nil {
		return err
	}
	rows, err := db.QueryContext(ctx, `
		SELECT id, event_type, webhook_status, webhook_attempts, body FROM monitor_events WHERE monitor_id = $1 ORDER BY seq`, a.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r record
		if err := rows.Scan(&r.id, &r.kind, &r.status, &r.attempts, &r.body); err != nil {
			return err
		}
		a.stored = append(a.stored, r)
	}
	return rows.Err()
}

// told is the episodes that a monitor's events tell, in order, and what is
// wrong with the telling: alerts and recoveries alternate.
func (a *account) told() (episodes []episode, problems []string) {
	open := map[string]*episode{}
	for _, r := range a.stored {
		var body struct {
			Data struct {
				StartedAt   time.Time `json:"started_at"`
				RecoveredAt time.Time `json:"recovered_at"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(r.body), &body); err != nil {
			problems = append(problems, fmt.Sprintf("event %s: %v", r.id, err))
			continue
		}
		condition, isAlert := strings.CutPrefix(r.kind, "alert.")
		condition, recovered := strings.CutSuffix(condition, "_recovered")
		switch {
		case !isAlert:
		case condition != "blackout" && condition != "silence":
			problems = append(problems, fmt.Sprintf("%s was told: %s", r.kind, r.body))
		case recovered && open[condition] == nil:
			problems = append(problems, fmt.Sprintf("%s without an alert before it: %s", r.kind, r.body))
		case recovered:
			e := open[condition]
			if !e.from.Equal(body.Data.StartedAt) {
				problems = append(problems, fmt.Sprintf("%s counts from %s, its alert from %s", r.kind, clock(body.Data.StartedAt), clock(e.from)))
			}
			e.to = body.Data.RecoveredAt
			episodes = append(episodes, *e)
			open[condition] = nil
		case open[condition] != nil:
			problems = append(problems, fmt.Sprintf("%s was told twice without a recovery between: %s", r.kind, r.body))
		default:
			open[condition] = &episode{condition: condition, from: body.Data.StartedAt}
		}
	}
	for _, e := range open {
		if e != nil {
			episodes = append(episodes, *e)
			problems = append(problems, fmt.Sprintf("no recovery from the %s of %s was told", e.condition, clock(e.from)))
		}
	}
	return episodes, problems
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
