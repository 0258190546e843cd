package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// commits reports whether a statement commits a change.
func commits(statement string) bool {
	return strings.HasSuffix(statement, "COMMIT") || strings.Contains(statement, "WITH claimed AS") || // ClaimDue
		strings.Contains(statement, "SET reserved_until = now()\n") || // Release
		strings.Contains(statement, "WITH routed AS") // RouteIncidents
}

// call calls a method and returns its result as text.
type call func(ctx context.Context, s *postgres.Store) (string, error)

// writing has every method that writes. The function prepares a call over an intact
// connection.
var writing = map[string]func(t *testing.T, s *postgres.Store) call{
	"Insert": func(*testing.T, *postgres.Store) call {
		m := registration(1)
		return func(ctx context.Context, s *postgres.Store) (string, error) { return "", s.Insert(ctx, m, 1) }
	},
	"InsertIdempotent": func(*testing.T, *postgres.Store) call {
		m, once := registration(1), monitors.IdempotencyKey{Key: monitors.Digest{1}, Request: monitors.Digest{2}}
		return func(ctx context.Context, s *postgres.Store) (string, error) {
			first, err := s.InsertIdempotent(ctx, m, 1, once)
			return fmt.Sprint(first != nil), err
		}
	},
	"Accept": func(t *testing.T, s *postgres.Store) call {
		m, r := register(t, s, 1), report(blackout(1), blackout(2))
		return func(ctx context.Context, s *postgres.Store) (string, error) {
			answer, err := s.Accept(ctx, m.ID, r)
			return string(answer.Order), err
		}
	},
	"Accept of a last report": func(t *testing.T, s *postgres.Store) call {
		m, r := register(t, s, 1), report(blackout(1))
		r.Status = monitor.Completed
		return func(ctx context.Context, s *postgres.Store) (string, error) {
			answer, err := s.Accept(ctx, m.ID, r)
			return string(answer.Order), err
		}
	},
	"End": func(t *testing.T, s *postgres.Store) call {
		m, last := register(t, s, 1), monitorError("as_it_happens")
		return func(ctx context.Context, s *postgres.Store) (string, error) {
			after, err := s.End(ctx, m.ID, monitor.Failed, "as_it_happens", &last, noon)
			return string(after.Status) + after.Reason, err
		}
	},
	"Record, sent": func(t *testing.T, s *postgres.Store) call { return recording(t, s, accepting, sent) },
	"Record, retry": func(t *testing.T, s *postgres.Store) call {
		return recording(t, s, rejecting, notify.Decision{RetryAt: time.Now().Add(time.Minute)})
	},
	"Record, failed": func(t *testing.T, s *postgres.Store) call { return recording(t, s, rejecting, failed) },
	"RouteIncidents": func(t *testing.T, s *postgres.Store) call {
		addDestination(t, s, notify.Discord, "chat")
		for n := range 3 {
			registerWith(t, s, n, blackout(1), blackout(2))
		}
		return func(ctx context.Context, s *postgres.Store) (string, error) {
			more, err := s.RouteIncidents(ctx)
			return fmt.Sprint(more), err
		}
	},
	"Record at a destination, delivered": func(t *testing.T, s *postgres.Store) call {
		return recordingAtDestination(t, s, delivered())
	},
	"Record at a destination, retry": func(t *testing.T, s *postgres.Store) call {
		return recordingAtDestination(t, s, retried(time.Minute))
	},
	"Record at a destination, gone": func(t *testing.T, s *postgres.Store) call {
		addDestination(t, s, notify.Discord, "chat")
		return recordingAtDestination(t, s, delivery.Outcome{Decision: notify.Decision{Failed: true, DisableDestination: true}, Result: message.Result{Attempt: attempt("HTTP 410"), Class: notify.Gone}})
	},
	"Redeliver": func(t *testing.T, s *postgres.Store) call {
		m, e := register(t, s, 1), blackout(1)
		acceptReport(t, s, m.ID, report(e), monitor.Run)
		recordAttempt(t, s, leaseOne(t, s), accepting, sent)
		return func(ctx context.Context, s *postgres.Store) (string, error) { return "", s.Redeliver(ctx, m.ID, e.ID) }
	},
	"Promote": func(t *testing.T, s *postgres.Store) call {
		m := register(t, s, 1)
		check(t, s.Release(t.Context(), []supervisor.Reservation{{ID: m.ID, Generation: 1}}))
		r := supervisor.Reservation{ID: m.ID, Generation: 2}
		requireDue(t, s, r)
		return func(ctx context.Context, s *postgres.Store) (string, error) {
			after, err := s.Promote(ctx, r, "here")
			return fmt.Sprint(after.Generation, after.RuntimeID), err
		}
	},
	"Release": func(t *testing.T, s *postgres.Store) call {
		m := register(t, s, 1)
		return func(ctx context.Context, s *postgres.Store) (string, error) {
			return "", s.Release(ctx, []supervisor.Reservation{{ID: m.ID, Generation: 1}})
		}
	},
	"Advance": func(t *testing.T, s *postgres.Store) call {
		m := register(t, s, 1)
		return func(ctx context.Context, s *postgres.Store) (string, error) {
			after, err := s.AdvanceGeneration(ctx, m.ID, 1, "here")
			return fmt.Sprint(after.Generation, after.RuntimeID), err
		}
	},
	"Fail": func(t *testing.T, s *postgres.Store) call {
		m, last := register(t, s, 1), monitorError(event.ReasonWorkerLost)
		return func(ctx context.Context, s *postgres.Store) (string, error) {
			return "", s.Fail(ctx, m, event.ReasonWorkerLost, last)
		}
	},
	"Tell": func(t *testing.T, s *postgres.Store) call {
		m, e := register(t, s, 1), monitorError(event.ReasonWorkerLost)
		return func(ctx context.Context, s *postgres.Store) (string, error) { return "", s.AddEvent(ctx, m, e) }
	},
}

func recordingAtDestination(t *testing.T, s *postgres.Store, o delivery.Outcome) call {
	t.Helper()
	hook := addDestination(t, s, notify.Webhook, "hook")
	registerWith(t, s, 1, blackout(1))
	leased := leaseForDestinations(t, s)
	d := leased[slices.IndexFunc(leased, func(d delivery.Delivery) bool { return d.Destination.ID == hook.ID })]
	return func(ctx context.Context, s *postgres.Store) (string, error) {
		recorded, err := s.Record(ctx, d, o)
		return recorded.Disabled, err
	}
}

func recording(t *testing.T, s *postgres.Store, a event.Attempt, v notify.Decision) call {
	t.Helper()
	registerWith(t, s, 1, blackout(1), blackout(2))
	l := leaseOne(t, s)
	return func(ctx context.Context, s *postgres.Store) (string, error) {
		recorded, err := s.Record(ctx, l, outcomeOf(a, v))
		return fmt.Sprint(recorded.EndedMonitor != ""), err
	}
}

// contents returns the content of the database without ids and times.
func contents(t *testing.T, db *sql.DB) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `
		SELECT 1, m.seq, concat_ws(' ', m.status, m.reason, m.generation, m.place, m.reserved_until IS NULL, m.ended_at IS NULL, s.total_segments)
		FROM monitors m JOIN monitor_stats s ON s.monitor_id = m.id
		UNION ALL
		SELECT 2, seq, concat_ws(' ', event_type, webhook_status, webhook_attempts, webhook_last_error IS NULL, sent_at IS NULL)
		FROM monitor_events
		UNION ALL
		SELECT 3, 0, status FROM idempotency_keys
		UNION ALL
		SELECT 4, 0, concat_ws(' ', d.name, x.sequence, x.event_id IS NULL, x.incident_id IS NULL, x.notice IS NULL, x.state, x.tried,
		                       jsonb_array_length(x.attempts), x.queue IS NULL, x.due_at IS NULL, x.lease IS NULL, x.changed, d.failures, d.enabled)
		FROM deliveries x LEFT JOIN destinations d ON d.id = x.destination_id
		UNION ALL
		SELECT 5, 0, concat_ws(' ', d.name, h.delivered, h.failed) FROM destination_hours h JOIN destinations d ON d.id = h.destination_id
		ORDER BY 1, 2, 3`)
	check(t, err)
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var table, seq int
		var line string
		check(t, rows.Scan(&table, &seq, &line))
		fmt.Fprintln(&b, table, line)
	}
	check(t, rows.Err())
	return b.String()
}

// The outcome of a COMMIT whose answer was lost is unknown. A repetition returns the
// right result and leaves the database as a single call does.
func TestARepeatedCallStoresNothingTwice(t *testing.T) {
	for name, ready := range writing {
		var wantAnswer, want string
		t.Run(name+": without losses", func(t *testing.T) { // closes its connections, of which there are many
			s, db := newStore(t)
			var err error
			if wantAnswer, err = ready(t, s)(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			want = contents(t, db)
		})

		for _, c := range []struct {
			name  string
			what  loss
			times int
		}{
			{"the answer is lost once", lostAnswer, 1},
			{"the answer is lost until it gives up", lostAnswer, 4},
			{"the request is lost once", lostRequest, 1},
		} {
			t.Run(name+": "+c.name, func(t *testing.T) {
				dsn := database(t)
				do := ready(t, open(t, dsn))
				proxied := startProxy(t, dsn)
				s := open(t, proxied.dsn)
				left, atCommit := c.times, false
				proxied.lose(func(statement string) loss {
					if !commits(statement) || left == 0 {
						return noLoss
					}
					left, atCommit = left-1, strings.HasSuffix(statement, "COMMIT")
					return c.what
				})
				var have string
				var err error
				tried := 0
				for ; tried < 10; tried++ {
					if have, err = do(t.Context(), s); err == nil {
						break
					}
					if refused := new(monitor.Error); errors.As(err, &refused) || atCommit && !strings.Contains(err.Error(), "outcome unknown") {
						t.Errorf("of an unknown outcome the error is %v", err)
					}
				}
				check(t, err)
				if proxied.losses() == 0 {
					t.Error("nothing was lost, so nothing was tested")
				}
				if c.times == 1 && tried != 0 {
					t.Error("the store did not repeat the call itself")
				}
				if have != wantAnswer {
					t.Errorf("the answer is %q, want %q", have, wantAnswer)
				}
				if have := contents(t, raw(t, dsn)); have != want {
					t.Errorf("the database has\n%swant\n%s", have, want)
				}
			})
		}
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
		if again := leaseOne(t, s); again.ID != l.ID {
			t.Errorf("leased %s", again.ID)
		}
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
				leased, err := s.Lease(t.Context(), 1, time.Minute)
				if err != nil || len(leased.Deliveries) != 1 {
					t.Errorf("leased are %v, %v", leased, err)
					return noLoss
				}
				again := accepting
				again.At = noon.Add(time.Second)
				if _, err := s.Record(t.Context(), leased.Deliveries[0], outcomeOf(again, sent)); err != nil {
					t.Error(err)
				}
			}
			return noLoss
		})
		check(t, far.Redeliver(t.Context(), m.ID, l.ID))
		expectNoneLeased(t, s)
	})
}
