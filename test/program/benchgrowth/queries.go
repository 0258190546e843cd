package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
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

// query is a call of the store whose statements are explained.
type query struct {
	method string // of the store or of one of its parts, such as Outbox.Lease
	name   string
	before call // prepares the call; nil: nothing
	call   call
}

type call func(context.Context, *postgres.Store) error

// explainQueries calls the store as gateways do, and prints a table of the statements, by their
// plans of the second call. It then prints the indexes that they have not used.
func explainQueries(ctx context.Context, dsn string, db *sql.DB, log *plans.Log, out io.Writer) (err error) {
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
	e := explainer{log: log, table: out, used: map[string]bool{}}
	failed := e.explain(ctx, dsn, queriesOf(chosen))
	fmt.Fprintf(out, "\n%d of %d statements read more than %d rows, and more than %d for each that they return or change; %d take longer than %d ms\n",
		e.marked, e.statements, manyRows, readPerRow, e.slow, slowMS)
	return errors.Join(failed, printUnused(ctx, db, e.used, out))
}

// explainer prints the plans of calls.
type explainer struct {
	log    *plans.Log
	table  io.Writer
	marker *sql.DB         // its statements show that the plans of those before were logged
	used   map[string]bool // names of indexes

	statements, marked, slow int
}

func (e *explainer) explain(ctx context.Context, dsn string, queries []query) (err error) {
	dsn += " application_name=" + queriesPart
	if e.marker, err = sql.Open("postgres", dsn); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.marker.Close()) }()
	store, err := postgres.Open(ctx, dsn, postgres.Config{Secrets: plainSecrets{}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	fmt.Fprint(e.table, "\n| call | method | statement | reads | rows read | returned or changed | ms |\n|---|---|---|---|---|---|---|\n")
	var failed error
	for _, q := range queries {
		statements, err := e.callTwice(ctx, store, q)
		if err != nil {
			fmt.Fprintf(e.table, "| %s | %s | **fails** | %s |  |  |  |\n", q.name, q.method, strings.Join(strings.Fields(err.Error()), " "))
			failed = errors.Join(failed, err)
		}
		e.print(q, statements)
	}
	return failed
}

// callTwice returns the statements of the second call, or those of one that fails.
func (e *explainer) callTwice(ctx context.Context, store *postgres.Store, q query) (statements []plans.Statement, err error) {
	for range 2 {
		if q.before != nil {
			if err := q.before(ctx, store); err != nil {
				return nil, fmt.Errorf("before %s: %w", q.name, err)
			}
		}
		if _, err := e.take(ctx); err != nil {
			return nil, err
		}
		failed := q.call(ctx, store)
		if statements, err = e.take(ctx); failed != nil || err != nil {
			return statements, errors.Join(failed, err)
		}
	}
	return statements, nil
}

// take returns the statements since the call before.
func (e *explainer) take(ctx context.Context) ([]plans.Statement, error) {
	all, err := e.log.TakeUntil(ctx, e.marker)
	for _, st := range all {
		e.use(st.Plan)
	}
	return all, err
}

// use notes the indexes of a plan.
func (e *explainer) use(p plans.Node) {
	e.used[p.Index] = true
	for _, child := range p.Plans {
		e.use(child)
	}
}

// print prints a row for each statement of a call. One that was repeated has one row.
func (e *explainer) print(q query, statements []plans.Statement) {
	byText := map[string]*work{}
	var order []*work
	for _, st := range statements {
		w := byText[st.Query]
		if w == nil {
			w = &work{text: st.Query}
			byText[st.Query], order = w, append(order, w)
		}
		w.addStatement(st)
	}
	for _, w := range order {
		e.statements++
		mark, times, ms := "", "", fmt.Sprintf("%.1f", w.ms)
		if w.read > manyRows && w.read > readPerRow*w.result {
			mark = " **more than it returns**"
			e.marked++
		}
		if w.ms > slowMS {
			ms = "**" + ms + "**"
			e.slow++
		}
		if w.times > 1 {
			times = fmt.Sprintf(", %d times", w.times)
		}
		fmt.Fprintf(e.table, "| %s | %s | `%s`%s | %s | %.0f%s | %.0f | %s |\n",
			q.name, q.method, beginningOf(w.text), times, strings.Join(w.scans, "; "), w.read, mark, w.result, ms)
	}
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
	text   string
	times  int
	scans  []string // of the last time
	read   float64  // rows of tables and entries of indexes
	result float64  // rows that it returned or changed
	ms     float64
}

func (w *work) addStatement(st plans.Statement) {
	w.times++
	w.ms += max(st.Duration, st.Plan.Time)
	w.scans = nil
	changed := w.add(st.Plan)
	w.result += max(st.Plan.Rows, changed)
}

// add adds what a node and those below it have read, and returns how many rows they have
// changed.
func (w *work) add(p plans.Node) (changed float64) {
	rows := (p.Rows + p.Removed) * p.Loops
	switch {
	case p.Type == "ModifyTable":
		if len(p.Plans) > 0 {
			changed = p.Plans[0].Rows
		}
	case p.Type == "Bitmap Index Scan":
		w.read += rows
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
		changed = max(changed, w.add(child))
	}
	return changed
}
