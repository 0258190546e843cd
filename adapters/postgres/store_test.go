package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestFourProcessesMigrateAtOnce(t *testing.T) {
	dsn := create(t, "template0")
	stores := []*postgres.Store{open(t, dsn), open(t, dsn), open(t, dsn), open(t, dsn)}
	atOnce(t, len(stores), func(i int) error { return stores[i].Migrate(t.Context()) })
	register(t, stores[0], 1)
}

// The first migration of a slow disk was cancelled after 5 s. The gateway then listened, and
// answered registrations with 500 because columns were missing.
func TestAMigrationTakesLongerThanStatementsMay(t *testing.T) {
	s := must(postgres.New(create(t, "template0"), postgres.Config{StatementTimeout: time.Millisecond}))(t)
	t.Cleanup(func() { _ = s.Close() })
	check(t, s.Migrate(t.Context()))
}

// Dashboards and people with psql may rely on the columns of section 9.1.
func TestTheSchemaHasTheSpecifiedColumns(t *testing.T) {
	has := values[string](t, raw(t, database(t)), `
		SELECT concat_ws(' ', table_name, column_name, udt_name, character_maximum_length, is_nullable) FROM information_schema.columns WHERE table_schema = 'public'
		UNION ALL SELECT indexname FROM pg_indexes`)
	for _, want := range []string{
		"monitors id varchar 37 NO", "monitors stream_url varchar 512 NO", "monitors callback_url varchar 512 NO", "monitors config jsonb NO", "monitors metadata jsonb YES",
		"monitors status varchar 20 NO", "monitors pod_name varchar 63 YES", "monitors created_at timestamptz NO", "monitors updated_at timestamptz NO",
		"monitor_stats monitor_id varchar 37 NO", "monitor_stats total_segments int4 NO", "monitor_stats blackout_events int4 NO",
		"monitor_stats silence_events int4 NO", "monitor_stats last_check_at timestamptz YES",
		"monitor_events id uuid NO", "monitor_events monitor_id varchar 37 NO", "monitor_events event_type varchar 50 NO", "monitor_events payload jsonb NO",
		"monitor_events webhook_status varchar 20 NO", "monitor_events webhook_attempts int4 NO", "monitor_events webhook_last_error text YES",
		"monitor_events created_at timestamptz NO", "monitor_events sent_at timestamptz YES",
		"idx_monitors_stream_url_active", "idx_monitor_events_monitor_id", "idx_monitor_events_created_at", "idx_monitor_events_webhook_status",
	} {
		if !slices.Contains(has, want) {
			t.Errorf("the schema lacks %s", want)
		}
	}
}

func TestAListenerIsWokenByAnEventOrAChangeOfTheRouting(t *testing.T) {
	s, db := newStore(t)
	m := register(t, s, 1)
	wakes, stop := listen(t, s)
	defer stop()
	acceptReport(t, s, m.ID, report(blackout(1)), monitor.Run)
	requireWakeup(t, wakes, "an event")
	createRoute(t, s, "new")
	requireWakeup(t, wakes, "a change of the routing")
	acceptReport(t, s, m.ID, report(), monitor.Run)
	select {
	case <-wakes:
		t.Error("woken by a report without events")
	case <-time.After(50 * time.Millisecond):
	}
	alter(t, db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
	requireWakeup(t, wakes, "the loss of its connection")
	acceptReport(t, s, m.ID, report(blackout(2)), monitor.Run)
	requireWakeup(t, wakes, "an event after that")
}

func TestABrokenConnectionIsReplaced(t *testing.T) {
	t.Run("a connection that broke in the pool", func(t *testing.T) {
		s, db := newStore(t)
		m := register(t, s, 1)
		for second := range 5 {
			alter(t, db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			acceptReport(t, s, m.ID, report(blackout(second)), monitor.Run)
		}
		expectLen(t, "events", eventsOf(t, s, m.ID), 5)
	})

	t.Run("a statement that waits ends with its context, or at its timeout", func(t *testing.T) {
		dsn := database(t)
		m := register(t, open(t, dsn), 1)
		s := must(postgres.Open(t.Context(), dsn, postgres.Config{StatementTimeout: 500 * time.Millisecond}))(t)
		defer s.Close()
		holding(t, raw(t, dsn), `SELECT FROM monitors FOR UPDATE`)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		expectError(t, "when its context ends", errorOf(s.Accept(ctx, m.ID, report())), context.DeadlineExceeded)
		expectText(t, "the error", fmt.Sprint(errorOf(s.Accept(t.Context(), m.ID, report()))), "statement timeout")
	})
}

func TestOpenChecksTheDSN(t *testing.T) {
	t.Run("the default sslmode is disable for local hosts and require for others", func(t *testing.T) {
		for dsn, want := range map[string]string{
			"host=/run/postgresql":                        "", // the driver never uses TLS there
			"host=127.0.0.1":                              "sslmode='disable'",
			"host=::1":                                    "sslmode='disable'",
			"host=localhost dbname=x":                     "sslmode='disable'",
			"host=db.example.com":                         "sslmode='require'",
			"host=localhost,db.example.com":               "sslmode='require'",
			"host=db.example.com sslmode=verify-full":     "sslmode=verify-full",
			"postgres://u:p@db.example.com/x":             "sslmode=require",
			"postgres://u:p@localhost/x":                  "sslmode=disable",
			"postgresql://u:p@10.0.0.1/x?sslmode=disable": "sslmode=disable",
		} {
			full, err := postgres.CompleteDSN(dsn, postgres.Config{})
			if err != nil || strings.Count(full, "sslmode=") != min(len(want), 1) || !strings.Contains(full, want) {
				t.Errorf("%s became %s, %v; want %s", dsn, full, err, want)
			}
		}
	})

	t.Run("the error contains the address of an unreachable server, and no password", func(t *testing.T) {
		for dsn, want := range map[string]string{
			"postgres://u:s3cret@host:port/x": "", "host=x password=s3cret sslmode=perhaps": "", "postgres://u:s3cret@%zz/": "",
			"host=/nonexistent password=s3cret": "/nonexistent",
		} {
			_, err := postgres.Open(t.Context(), dsn, postgres.Config{})
			if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", dsn, err)
			}
		}
	})
}

func TestAPermanentErrorIsRecognised(t *testing.T) {
	foreign, starting := create(t, "template0"), create(t, "template0")
	alter(t, raw(t, foreign), `CREATE TABLE monitors (note text)`)
	_, rest, _ := strings.Cut(starting, "dbname=")
	alter(t, raw(t, server.DSN()), `ALTER DATABASE `+strings.Fields(rest)[0]+` ALLOW_CONNECTIONS false`)
	for name, c := range map[string]struct {
		dsn     string
		refused bool
	}{
		"a database that is not there":     {server.In("nowhere"), true},
		"a user who is not let in":         {strings.Replace(server.DSN(), "user=", "user=not_", 1), true},
		"a schema of another program":      {foreign, true},
		"a database that starts up":        {starting, false},
		"a server that is not there":       {"host=/nonexistent", false},
		"a server that nobody can resolve": {"host=nowhere.invalid dbname=x", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := must(postgres.New(c.dsn, postgres.Config{}))(t)
			defer s.Close()
			err := s.Ping(t.Context())
			if err == nil {
				err = s.Migrate(t.Context())
			}
			if err == nil || postgres.IsPermanent(err) != c.refused {
				t.Errorf("the error is %v, refused: %v", err, postgres.IsPermanent(err))
			}
		})
	}
}
