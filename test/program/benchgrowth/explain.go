package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/plans"
)

// A statement is marked if it reads more than manyRows rows, and more than readPerRow for each
// that it returns or changes. A row of a list is joined from three tables. Its time is marked
// above slowMS.
const (
	manyRows   = 200
	readPerRow = 5
	slowMS     = 20
)

// explainCalls calls the store as gateways do, each call twice, and prints a table of the
// statements of the second call. It then prints the indexes that none has used.
func explainCalls(ctx context.Context, db bench.Database, log *plans.Log) (err error) {
	chosen, err := chooseSample(ctx, db)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, plans.ExplainAll+`; SELECT pg_stat_reset()`); err != nil {
		return err
	}
	defer func() {
		_, undone := db.ExecContext(ctx, plans.ExplainNone)
		err = errors.Join(err, undone)
	}()
	dsn := db.DSN + " application_name=" + queriesPart
	marker, err := sql.Open("postgres", dsn) // its statements show that the plans of those before were logged
	if err != nil {
		return err
	}
	var statements, many, slow int
	var failed error
	used := map[string]bool{} // indexes
	explain := func(st *postgres.Store) error {
		fmt.Print("\n| call | statement | reads | rows read | returned or changed | ms |\n|---|---|---|---|---|---|\n")
		for _, c := range chosen.calls(ctx, st) {
			took, err := callTwice(ctx, c, log, marker)
			if err != nil {
				fmt.Printf("| %s | **fails** | %s |  |  |  |\n", c.name, strings.Join(strings.Fields(err.Error()), " "))
				failed = errors.Join(failed, fmt.Errorf("%s: %w", c.name, err))
			}
			for _, w := range worksOf(took) {
				statements++
				maps.Copy(used, w.indexes)
				mark, ms := "", fmt.Sprintf("%.1f", w.ms)
				if w.read > manyRows && w.read > readPerRow*w.result {
					mark = " **more than it returns**"
					many++
				}
				if w.ms > slowMS {
					ms = "**" + ms + "**"
					slow++
				}
				fmt.Printf("| %s | `%s` ×%d | %s | %.0f%s | %.0f | %s |\n", c.name, beginningOf(w.text), w.times, strings.Join(w.scans, "; "), w.read, mark, w.result, ms)
			}
		}
		return nil
	}
	err = errors.Join(bench.WithStore(ctx, dsn, postgres.Config{Secrets: plainSecrets{}}, explain), marker.Close(), failed)
	fmt.Printf("\n%d of %d statements read more than %d rows, and more than %d for each that they return or change; %d take longer than %d ms\n",
		many, statements, manyRows, readPerRow, slow, slowMS)
	return errors.Join(err, printUnused(ctx, db, used))
}

// callTwice returns the statements of the second call, or those of one that fails.
func callTwice(ctx context.Context, c call, log *plans.Log, marker *sql.DB) (statements []plans.Statement, err error) {
	for range 2 {
		if c.before != nil {
			if err := c.before(); err != nil {
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

// beginningOf returns the first words of a statement.
func beginningOf(text string) string {
	const most = 70
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// work is what a statement has done, each time that it was executed.
type work struct {
	text    string
	times   int
	scans   []string // of the last time
	indexes map[string]bool
	read    float64 // rows of tables and entries of indexes
	result  float64 // rows that it returned or changed
	ms      float64
}

// worksOf returns what was done for each text, in order.
func worksOf(statements []plans.Statement) (all []*work) {
	byText := map[string]*work{}
	for _, st := range statements {
		w := byText[st.Query]
		if w == nil {
			w = &work{text: st.Query, indexes: map[string]bool{}}
			byText[st.Query], all = w, append(all, w)
		}
		w.times++
		w.ms += max(st.Duration, st.Plan.Time)
		w.scans = nil
		w.result += max(st.Plan.Rows, w.add(st.Plan))
	}
	return all
}

// add adds what a node and those below it have read, and returns how many rows they have
// changed.
func (w *work) add(p plans.Node) (changed float64) {
	rows := (p.Rows + p.Removed) * p.Loops
	w.indexes[p.Index] = true
	switch {
	case p.Type == "ModifyTable":
		if len(p.Plans) > 0 {
			changed = p.Plans[0].Rows
		}
	case p.Index != "" || p.Relation != "": // an index alone: Bitmap Index Scan
		how := p.Index
		if how == "" {
			how = p.Relation
		}
		if p.Type == "Seq Scan" {
			how += " as a whole"
		}
		w.read += rows
		w.scans = append(w.scans, fmt.Sprintf("%s %.0f", how, rows))
	}
	for _, child := range p.Plans {
		changed = max(changed, w.add(child))
	}
	return changed
}

// printUnused prints the indexes that are there to be read, and are in no plan. A unique index has
// another purpose as well. Others may have scanned them: checks of references, the planner, and what
// prepares a call. A session has stored its numbers when it has ended.
func printUnused(ctx context.Context, db bench.Database, used map[string]bool) (err error) {
	for open := 1; open > 0; wait.For(ctx, 10*time.Millisecond) {
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, queriesPart).Scan(&open); err != nil {
			return err
		}
	}
	rows, err := db.QueryContext(ctx, `
		SELECT s.relname, s.indexrelname, pg_relation_size(s.indexrelid) / 1048576.0, s.idx_scan
		FROM pg_stat_user_indexes s JOIN pg_index i ON i.indexrelid = s.indexrelid
		WHERE NOT i.indisunique ORDER BY s.relname, s.indexrelname`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	fmt.Print("\nIndexes that nothing used (scans are those of references, the planner and preparations):\n\n| table | index | MB | scans |\n|---|---|---|---|\n")
	for rows.Next() {
		var table, index string
		var size float64
		var scans int64
		if err := rows.Scan(&table, &index, &size, &scans); err != nil {
			return err
		}
		if !used[index] {
			fmt.Printf("| %s | %s | %.1f | %d |\n", table, index, size, scans)
		}
	}
	return rows.Err()
}
