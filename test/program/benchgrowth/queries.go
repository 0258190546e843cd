package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/lib/pq"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/plans"
)

// The plan of a statement is printed if it reads more than manyRows rows, and more than readPerRow for
// each that it returns or changes, or if it takes longer than slowMS. A row of a list is joined from
// three tables.
const (
	manyRows   = 200
	readPerRow = 5
	slowMS     = 20
)

// explainCalls calls the store as gateways do, each call twice, and prints a table of the statements of
// the second call. The plans of those that read much or take long follow.
func explainCalls(ctx context.Context, db bench.Database, log *plans.Log) (err error) {
	chosen, err := chooseSample(ctx, db)
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
	marker, err := sql.Open("postgres", db.DSN) // its statements show that the plans of those before were logged
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, marker.Close()) }()
	return bench.WithStore(ctx, db.DSN, postgres.Config{Secrets: plainSecrets{}}, func(st *postgres.Store) (failed error) {
		var statements, conspicuous int
		var text strings.Builder
		fmt.Print("\n| call | statement | rows read | returned or changed | ms |\n|---|---|---|---|---|\n")
		for _, c := range chosen.calls(ctx, st) {
			done, err := callTwice(ctx, db, c, log, marker)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", c.name, err))
			}
			for _, s := range done {
				statements++
				rows, entries := s.Plan.Reads("")
				read, result, ms := rows+entries, max(s.Plan.Rows, changed(s.Plan)), max(s.Duration, s.Plan.Time)
				fmt.Printf("| %s | `%.60s` | %.0f | %.0f | %.1f |\n", c.name, strings.ReplaceAll(strings.Join(strings.Fields(s.Query), " "), "|", "¦"), read, result, ms)
				if read > manyRows && read > readPerRow*result || ms > slowMS {
					conspicuous++
					fmt.Fprintf(&text, "\n%s: %s\n", c.name, s.Query)
					s.Plan.Print(&text, 0)
				}
			}
		}
		fmt.Printf("\n%d of %d statements read more than %d rows, and more than %d for each that they return or change, or take longer than %d ms:\n%s",
			conspicuous, statements, manyRows, readPerRow, slowMS, &text)
		return failed
	})
}

// callTwice returns the statements of the second call, or those of one that fails.
func callTwice(ctx context.Context, db bench.Database, c call, log *plans.Log, marker *sql.DB) (statements []plans.Statement, err error) {
	for range 2 {
		if c.before != "" {
			if _, err := db.ExecContext(ctx, c.before); err != nil {
				return nil, err
			}
		}
		if _, err := log.TakeUntil(ctx, marker); err != nil {
			return nil, err
		}
		failed := c.do()
		if statements, err = log.TakeUntil(ctx, marker); failed != nil || err != nil {
			return statements, errors.Join(failed, err)
		}
	}
	return statements, nil
}

// changed returns how many rows a node and those below it have changed.
func changed(p plans.Node) (rows float64) {
	if p.Type == "ModifyTable" && len(p.Plans) > 0 {
		rows = p.Plans[0].Rows
	}
	for _, child := range p.Plans {
		rows = max(rows, changed(child))
	}
	return rows
}

// sample is what the calls are about, chosen from the filled database.
type sample struct {
	monitorID monitor.ID // it is watched, in trouble, and has minutes of a month
	webhookID string     // a destination with deliveries
	firstSeq  int64      // of the open incidents
	ended     []string   // monitors that have ended, and have events and incidents
}

// chooseSample chooses what no earlier run has changed.
func chooseSample(ctx context.Context, db bench.Database) (*sample, error) {
	s := &sample{}
	err := db.QueryRowContext(ctx, `
		SELECT m.id, (SELECT min(seq) FROM incidents WHERE state = 'open'), ARRAY(SELECT id FROM monitors WHERE status = 'completed' ORDER BY ended_at LIMIT 4),
		       (SELECT destination_id FROM deliveries WHERE sequence IS NOT NULL AND state = 'delivered' ORDER BY created_at DESC, id DESC LIMIT 1)
		FROM monitors m JOIN incidents i ON i.monitor_id = m.id AND i.state = 'open' WHERE m.status = 'monitoring' ORDER BY m.seq DESC LIMIT 1`).
		Scan(&s.monitorID, &s.firstSeq, (*pq.StringArray)(&s.ended), &s.webhookID)
	if err == nil && len(s.ended) < 4 {
		err = errors.New("too few monitors have ended: use more monitors, or another directory")
	}
	return s, err
}

// plainSecrets stands for a SECRETS_KEY. It encrypts nothing.
type plainSecrets struct{}

// Seal implements postgres.Secrets.
func (plainSecrets) Seal(text []byte, _ string) ([]byte, error) { return text, nil }

// Open implements postgres.Secrets.
func (plainSecrets) Open(sealed []byte, _ string) (text []byte, current bool, err error) {
	return sealed, true, nil
}
