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
	"github.com/stream-monitor/stream-monitor/application/delivery/callback"
	"github.com/stream-monitor/stream-monitor/application/delivery/destination"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// commits reports whether a statement commits a change.
func commits(statement string) bool {
	return strings.HasSuffix(statement, "COMMIT") || strings.Contains(statement, "WITH claimed AS") || // ClaimDue
		strings.Contains(statement, "SET reserved_until = 'epoch'\n") || // Release
		strings.Contains(statement, "RECURSIVE head") && strings.Contains(statement, "UPDATE") || // Lease
		strings.Contains(statement, "RECURSIVE queue") // LeaseForDestinations
}

// atCommit loses the given part of every such statement.
func atCommit(what loss) func(statement string) loss {
	return func(statement string) loss {
		if commits(statement) {
			return what
		}
		return noLoss
	}
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
		m, once := registration(1), registry.IdempotencyKey{Key: registry.Digest{1}, Request: registry.Digest{2}}
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
		return recording(t, s, rejecting, callback.Decision{RetryAt: time.Now().Add(time.Minute)})
	},
	"Record, failed": func(t *testing.T, s *postgres.Store) call { return recording(t, s, rejecting, failed) },
	"Lease": func(t *testing.T, s *postgres.Store) call {
		for n := range 3 {
			acceptReport(t, s, register(t, s, n).ID, report(blackout(1), blackout(2)), monitor.Run)
		}
		return func(ctx context.Context, s *postgres.Store) (string, error) {
			deliveries, err := s.Outbox.Lease(ctx, 10, time.Minute)
			return fmt.Sprint(len(deliveries)), err
		}
	},
	"LeaseForDestinations": func(t *testing.T, s *postgres.Store) call {
		addDestination(t, s, notify.Webhook, "hook")
		addDestination(t, s, notify.Discord, "chat")
		for n := range 3 {
			acceptReport(t, s, register(t, s, n).ID, report(blackout(1), blackout(2)), monitor.Run)
		}
		return func(ctx context.Context, s *postgres.Store) (string, error) {
			leased, err := s.DestinationOutbox.Lease(ctx, 10, time.Minute)
			return fmt.Sprint(len(leased)), err
		}
	},
	"Record at a destination, delivered": func(t *testing.T, s *postgres.Store) call {
		return recordingAtDestination(t, s, accepted())
	},
	"Record at a destination, retry": func(t *testing.T, s *postgres.Store) call {
		return recordingAtDestination(t, s, retriedIn(time.Minute))
	},
	"Record at a destination, gone": func(t *testing.T, s *postgres.Store) call {
		addDestination(t, s, notify.Discord, "chat")
		return recordingAtDestination(t, s, destination.Outcome{Attempt: attempt("HTTP 410"), Class: notify.Gone, Failed: true, DisableDestination: true})
	},
	"Redeliver": func(t *testing.T, s *postgres.Store) call {
		m, e := register(t, s, 1), blackout(1)
		acceptReport(t, s, m.ID, report(e), monitor.Run)
		recordAttempt(t, s, leaseOne(t, s), accepting, sent)
		return func(ctx context.Context, s *postgres.Store) (string, error) { return "", s.Redeliver(ctx, m.ID, e.ID) }
	},
	"Promote": func(t *testing.T, s *postgres.Store) call {
		m := register(t, s, 1)
		if err := s.Release(t.Context(), []supervisor.Reservation{{ID: m.ID, Generation: 1}}); err != nil {
			t.Fatal(err)
		}
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

func recordingAtDestination(t *testing.T, s *postgres.Store, o destination.Outcome) call {
	t.Helper()
	hook := addDestination(t, s, notify.Webhook, "hook")
	acceptReport(t, s, register(t, s, 1).ID, report(blackout(1)), monitor.Run)
	leased := leaseForDestinations(t, s)
	d := leased[slices.IndexFunc(leased, func(d destination.Delivery) bool { return d.Destination.ID == hook.ID })]
	return func(ctx context.Context, s *postgres.Store) (string, error) {
		disabled, err := s.DestinationOutbox.RecordAttempt(ctx, d, o)
		return disabled, err
	}
}

func recording(t *testing.T, s *postgres.Store, a delivery.Attempt, v callback.Decision) call {
	t.Helper()
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(blackout(1), blackout(2)), monitor.Run)
	l := leaseOne(t, s)
	return func(ctx context.Context, s *postgres.Store) (string, error) {
		ended, err := s.Outbox.RecordAttempt(ctx, l, a, v)
		return fmt.Sprint(ended != ""), err
	}
}

// contents returns the content of the database without ids and times.
func contents(t *testing.T, db *sql.DB) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `
		SELECT 1, m.seq, concat_ws(' ', m.status, m.reason, m.generation, m.place, m.reserved_until IS NULL, m.ended_at IS NULL, s.total_segments)
		FROM monitors m JOIN monitor_stats s ON s.monitor_id = m.id
		UNION ALL
		SELECT 2, seq, concat_ws(' ', event_type, webhook_status, webhook_attempts, jsonb_array_length(attempts), leased_until IS NULL)
		FROM monitor_events
		UNION ALL
		SELECT 3, 0, status FROM idempotency_keys
		UNION ALL
		SELECT 4, 0, concat_ws(' ', d.name, x.sequence, x.event_id IS NULL, x.incident_id IS NULL, x.notice IS NULL,
		                       x.state, x.tried, jsonb_array_length(x.attempts), x.leased_until IS NULL, d.failures, d.enabled)
		FROM deliveries x JOIN destinations d ON d.id = x.destination_id
		ORDER BY 1, 2, 3`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	for rows.Next() {
		var table, seq int
		var line string
		if err := rows.Scan(&table, &seq, &line); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, table, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The outcome of a COMMIT whose answer was lost is unknown. A repetition returns the
// right result and leaves the database as a single call does.
func TestARepeatedCallStoresNothingTwice(t *testing.T) {
	for name, ready := range writing {
		var wantAnswer, want string
		t.Run(name+": without losses", func(t *testing.T) { // closes its connections, of which there are many
			dsn := database(t)
			s := open(t, dsn)
			var err error
			if wantAnswer, err = ready(t, s)(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			want = contents(t, raw(t, dsn))
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
				left := c.times
				proxied.lose(func(statement string) loss {
					if !commits(statement) || left == 0 {
						return noLoss
					}
					left--
					return c.what
				})
				var have string
				var err error
				tried := 0
				for ; tried < 10; tried++ {
					if have, err = do(t.Context(), s); err == nil {
						break
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				if proxied.losses() != c.times {
					t.Errorf("%d losses, so nothing was tested", proxied.losses())
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

// The events of a lost lease are not unavailable for the whole lease.
func TestALeaseWhoseAnswerWasLostIsGrantedByTheNextCall(t *testing.T) {
	dsn := database(t)
	proxied := startProxy(t, dsn)
	s := open(t, proxied.dsn)
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
	proxied.lose(atCommit(lostAnswer))
	if deliveries, err := s.Outbox.Lease(t.Context(), 10, time.Minute); err == nil {
		t.Fatalf("%d deliveries came through", len(deliveries))
	}
	if others := lease(t, open(t, dsn)); len(others) != 0 {
		t.Errorf("another gateway was given %d", len(others))
	}
	proxied.lose(nil)
	l := leaseOne(t, s)
	recordAttempt(t, s, l, accepting, sent)
	if n := len(lease(t, s)); n != 0 {
		t.Errorf("%d more", n)
	}
}

// A server that stalls in COMMIT continues after its client has given up. Until then
// the rows are locked, and the next lease skips them.
func TestALeaseThatAStalledServerGrantsLateIsGrantedByALaterCall(t *testing.T) {
	const gate = 16
	dsn := create(t, template)
	db := raw(t, dsn)
	alter(t, db, `CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			LOOP -- it cannot be cancelled
				BEGIN
					PERFORM pg_advisory_xact_lock_shared(16);
					RETURN NULL;
				EXCEPTION WHEN query_canceled THEN
				END;
			END LOOP;
		END $$`)
	proxied := startProxy(t, dsn)
	s := open(t, proxied.dsn)
	m := register(t, s, 1)
	acceptReport(t, s, m.ID, report(blackout(1), blackout(2)), monitor.Run)
	alter(t, db, `CREATE CONSTRAINT TRIGGER stall AFTER UPDATE ON monitor_events
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION stall()`)
	unlock := locked(t, db, gate)
	count := func(query string) (n int) {
		if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}

	proxied.lose(atCommit(silentLoss))
	patience, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	late := make(chan error, 1)
	go func() {
		_, err := s.Outbox.Lease(patience, 10, time.Minute)
		late <- err
	}()
	eventually(t, "the lease stalls", func() bool {
		return count(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) == 1
	})
	giveUp()
	if err := <-late; err == nil {
		t.Fatal("it was answered")
	}
	proxied.lose(nil)

	for range 2 {
		if n := len(lease(t, s)); n != 0 {
			t.Fatalf("%d were leased that are locked", n)
		}
	}
	unlock()
	eventually(t, "the lease is taken", func() bool { return count(`SELECT count(*) FROM monitor_events WHERE lease IS NOT NULL`) == 1 })
	if n := len(lease(t, open(t, dsn))); n != 0 {
		t.Errorf("another gateway was given %d", n)
	}
	l := leaseOne(t, s)
	if n := len(lease(t, s)); n != 0 {
		t.Errorf("%d came again while it is being sent", n)
	}
	recordAttempt(t, s, l, accepting, sent)
	leaseOne(t, s)
}

func TestAnUnconfirmedLeaseIsRequestedUntilItHasExpired(t *testing.T) {
	lost := func(t *testing.T, term time.Duration) *postgres.Store {
		t.Helper()
		proxied := startProxy(t, database(t))
		s := open(t, proxied.dsn)
		proxied.lose(atCommit(lostAnswer))
		if _, err := s.Outbox.Lease(t.Context(), 10, term); err == nil {
			t.Fatal("it was answered")
		}
		proxied.lose(nil)
		return s
	}

	t.Run("an earlier answer does not confirm it", func(t *testing.T) {
		s := lost(t, time.Minute)
		before := s.UnconfirmedLeases()
		lease(t, s)
		if n := s.UnconfirmedLeases(); n == 0 || n != before {
			t.Errorf("%d are asked for, before it were %d", n, before)
		}
	})

	t.Run("a later answer confirms it", func(t *testing.T) {
		s := lost(t, time.Millisecond)
		eventually(t, "none is asked for", func() bool { lease(t, s); return s.UnconfirmedLeases() == 0 })
	})

	t.Run("the latest are kept if there are too many", func(t *testing.T) {
		proxied := startProxy(t, database(t))
		s := open(t, proxied.dsn)
		proxied.lose(atCommit(lostAnswer))
		for range postgres.MaxUnconfirmed/3 + 1 { // each is sent three times
			if _, err := s.Outbox.Lease(t.Context(), 10, time.Minute); err == nil {
				t.Fatal("it was answered")
			}
		}
		proxied.lose(nil)
		if n := s.UnconfirmedLeases(); n != postgres.MaxUnconfirmed {
			t.Errorf("%d are asked for", n)
		}
		lease(t, s)
	})
}

func TestAnUnknownOutcomeIsNamedInTheError(t *testing.T) {
	proxied := startProxy(t, database(t))
	s := open(t, proxied.dsn)
	proxied.lose(atCommit(lostAnswer))
	err := s.Insert(t.Context(), registration(1), unlimited)
	if err == nil || !strings.Contains(err.Error(), "outcome unknown") {
		t.Errorf("the error is %v", err)
	}
	if seen := new(monitor.Error); errors.As(err, &seen) {
		t.Errorf("the caller got %v", seen)
	}
}

func TestARepetitionRespectsChangesSinceTheFirstCall(t *testing.T) {
	// delivered is a monitor with one event, which was sent.
	delivered := func(t *testing.T, s *postgres.Store) (monitor.Monitor, callback.Delivery) {
		t.Helper()
		m := register(t, s, 1)
		acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
		l := leaseOne(t, s)
		recordAttempt(t, s, l, accepting, sent)
		return m, l
	}

	t.Run("a repeated success does not change a redelivered event", func(t *testing.T) {
		s := open(t, database(t))
		m, l := delivered(t, s)
		if err := s.Redeliver(t.Context(), m.ID, l.EventID); err != nil {
			t.Fatal(err)
		}
		recordAttempt(t, s, l, accepting, sent)
		if again := leaseOne(t, s); again.EventID != l.EventID {
			t.Errorf("leased %s", again.EventID)
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
				deliveries, err := s.Outbox.Lease(t.Context(), 1, time.Minute)
				if err != nil || len(deliveries) != 1 {
					t.Errorf("leased are %v, %v", deliveries, err)
					return noLoss
				}
				again := accepting
				again.At = noon.Add(time.Second)
				if _, err := s.Outbox.RecordAttempt(t.Context(), deliveries[0], again, sent); err != nil {
					t.Error(err)
				}
			}
			return noLoss
		})
		if err := far.Redeliver(t.Context(), m.ID, l.EventID); err != nil {
			t.Fatal(err)
		}
		if n := len(lease(t, s)); n != 0 {
			t.Errorf("%d more", n)
		}
	})
}
