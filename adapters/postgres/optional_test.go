package postgres_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// lockedBuffer is a log that may be written concurrently.
type lockedBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

// damaged makes every statement that changes a table fail, as a damaged index does.
func damaged(table string) string {
	return `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''damaged'' USING ERRCODE = ''XX002''; END';
		CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON ` + table + ` EXECUTE FUNCTION fail()`
}

const (
	noIncident = "the incident of a report could not be stored"
	noEntry    = "changes left out of the feed"
)

// TestAFailureOfTheRecordRefusesNoAlert damages a part of the record. The alert is
// stored and its delivery is recorded all the same, and the log says what is missing.
func TestAFailureOfTheRecordRefusesNoAlert(t *testing.T) {
	for _, c := range []struct{ name, damage, logged string }{
		{"a constraint of incidents", `ALTER TABLE incidents ADD CHECK (severity > 99)`, noIncident},
		{"a damaged index of incidents", damaged("incidents"), noIncident},
		{"a damaged index of the feed", damaged("feed"), noEntry},
		{"a damaged head of the feed", damaged("feed_head"), noEntry},
		{"entries ahead of the head", `INSERT INTO feed SELECT version + k, 'monitor.updated', now(), '{}' FROM feed_head, generate_series(1, 9) AS k`, noEntry},
		{"a feed that is being rebuilt", ``, noEntry},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dsn := create(t, template) // not for reuse
			db := raw(t, dsn)
			var log lockedBuffer
			s, err := postgres.Open(t.Context(), dsn, postgres.Config{MaxConnections: 2, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			m := register(t, s, 1)
			if c.damage != "" {
				alter(t, db, c.damage)
			} else {
				rebuilding, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = rebuilding.Rollback() }()
				if _, err := rebuilding.ExecContext(t.Context(), `LOCK TABLE feed`); err != nil {
					t.Fatal(err)
				}
			}
			acceptReport(t, s, m.ID, report(trouble(detector.Blackout, hourAgo())), monitor.Run)
			if got := getMonitor(t, s, m.ID); got.Status != monitor.Monitoring {
				t.Errorf("the report is not stored: %s", got.Status)
			}
			alert := leaseOne(t, s)
			if alert.EventType != event.Blackout {
				t.Errorf("the alert is %+v", alert)
			}
			recordAttempt(t, s, alert, accepting, sent)
			if left := lease(t, s); len(left) != 0 {
				t.Errorf("the delivery is not recorded: %+v", left)
			}
			if found := len(listIncidents(t, s, m.ID)); (found == 0) != (c.logged == noIncident) {
				t.Errorf("%d incidents are stored", found)
			}
			if text := log.String(); !strings.Contains(text, c.logged) {
				t.Errorf("the log says %s", text)
			}
		})
	}
}

// TestReadersGetTheWholeStateAfterAChangeWasLeftOut repairs the feed: its epoch changes, once.
func TestReadersGetTheWholeStateAfterAChangeWasLeftOut(t *testing.T) {
	dsn := create(t, template) // not for reuse
	db, s := raw(t, dsn), open(t, dsn)
	m := register(t, s, 1)
	renew := func(ctx context.Context) string {
		if err := s.RenewFeedEpoch(ctx); err != nil {
			t.Fatal(err)
		}
		return presentPosition(t, s).Epoch
	}
	before := renew(t.Context())
	alter(t, db, `ALTER TABLE feed ADD CONSTRAINT nothing CHECK (version < 0) NOT VALID`)
	acceptReport(t, s, m.ID, report(blackout(40)), monitor.Run)
	alter(t, db, `ALTER TABLE feed DROP CONSTRAINT nothing`)
	after := renew(t.Context())
	if after == before {
		t.Error("the epoch is the same, though a change was left out")
	}
	if again := renew(t.Context()); again != after {
		t.Error("the epoch has changed twice for one change")
	}
}

// TestAHaltedGatewayDelaysNoAlertOfTheOthers cuts a gateway off when it has sent its
// entries of the feed. The server ends its transaction after 5 s only.
func TestAHaltedGatewayDelaysNoAlertOfTheOthers(t *testing.T) {
	dsn := database(t)
	proxied := startProxy(t, dsn)
	halted, other := open(t, proxied.dsn), open(t, dsn)
	first, second := register(t, other, 1), register(t, other, 2)
	proxied.lose(func(statement string) loss {
		if strings.Contains(statement, "UPDATE feed_head") {
			return silentLoss
		}
		return noLoss
	})
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() { _, _ = halted.Accept(ctx, first.ID, report(blackout(1))) })
	defer waiting.Wait()
	defer cancel()
	eventually(t, "the gateway is halted", func() bool { return proxied.losses() == 1 })
	requireWithin(t, 3*time.Second, "the alert of another gateway", func() {
		acceptReport(t, other, second.ID, report(blackout(1)), monitor.Run)
	})
}

// recordStorm is an optional part within that of fanOut.
func TestAnOptionalPartWithinAnotherKeepsItsBounds(t *testing.T) {
	dsn := create(t, template)
	s, db := open(t, dsn), raw(t, dsn)
	alter(t, db, `CREATE TABLE steps (name TEXT NOT NULL)`)
	refused := func(error) {}
	var timeout string
	err := s.InTx(t.Context(), func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(t.Context(), postgres.GroupLockTimeout); err != nil {
			return err
		}
		if err := s.OptionallyWithin(t.Context(), tx, func() error {
			_, err := tx.ExecContext(t.Context(), `SET LOCAL lock_timeout = '2s'`)
			return err
		}, refused); err != nil {
			return err
		}
		if err := tx.GetContext(t.Context(), &timeout, `SHOW lock_timeout`); err != nil {
			return err
		}
		timeout += " "
		step := func(name any) error {
			_, err := tx.ExecContext(t.Context(), `INSERT INTO steps VALUES ($1)`, name)
			return err
		}
		return s.Optionally(t.Context(), tx, func() error {
			if err := step("undone with the outer part"); err != nil {
				return err
			}
			for _, name := range []any{"inner", nil} { // the second is refused
				if err := s.OptionallyWithin(t.Context(), tx, func() error {
					if _, err := tx.ExecContext(t.Context(), `SET LOCAL lock_timeout = '1s'`); err != nil {
						return err
					}
					return step(name)
				}, refused); err != nil {
					return err
				}
				var after string
				if err := tx.GetContext(t.Context(), &after, `SHOW lock_timeout`); err != nil {
					return err
				}
				timeout += after + " "
			}
			return step(nil)
		}, refused)
	})
	if err != nil || timeout != "1s 3s 3s " {
		t.Errorf("%v, lock_timeout is %safter the inner parts, want 1s in a group and 3s in another optional part", err, timeout)
	}
	requireLines(t, db, `SELECT count(*) FROM steps`, 0)
}
