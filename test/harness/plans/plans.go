// Package plans collects the plans of the statements that a PostgreSQL server executes, with what
// each node of them read, returned and took. The server logs them by its module auto_explain.
package plans

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
)

// ExplainAll makes the server log the plan of every statement of new connections.
const ExplainAll = `
	LOAD 'auto_explain';
	ALTER ROLE CURRENT_USER SET session_preload_libraries = 'auto_explain';
	ALTER ROLE CURRENT_USER SET auto_explain.log_min_duration = 0;
	ALTER ROLE CURRENT_USER SET auto_explain.log_analyze = on;
	ALTER ROLE CURRENT_USER SET auto_explain.log_buffers = on;
	ALTER ROLE CURRENT_USER SET auto_explain.log_format = json`

// Statement is a logged statement with its plan.
type Statement struct {
	Query string `json:"Query Text"`
	Plan  Node   `json:"Plan"`
}

// Node is a node of a plan, with what it did.
type Node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Filter   string  `json:"Filter"`
	Removed  float64 `json:"Rows Removed by Filter"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Time     float64 `json:"Actual Total Time"` // ms, of one loop
	Hit      int     `json:"Shared Hit Blocks"`
	Read     int     `json:"Shared Read Blocks"`
	Plans    []Node  `json:"Plans"`
}

// Log collects the plans that the server logs, line by line.
type Log struct {
	mu         sync.Mutex
	open       strings.Builder
	statements []Statement
	markers    int // of TakeUntil
}

var _ slog.Handler = (*Log)(nil)

// Enabled implements slog.Handler.
func (l *Log) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (l *Log) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *Log) WithGroup(string) slog.Handler { return l }

// Handle implements slog.Handler.
func (l *Log) Handle(_ context.Context, r slog.Record) error {
	l.line(r.Message)
	return nil
}

func (l *Log) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.HasPrefix(text, "LOG:") {
		l.open.Reset()
		return
	}
	if strings.HasPrefix(text, `"Query Text"`) && !strings.HasSuffix(text, `",`) {
		text = strings.TrimRight(text, `\`) + `",` // the gateway's log cuts long lines
	}
	l.open.WriteString(text)
	var s Statement
	if text == "}" && json.Unmarshal([]byte(l.open.String()), &s) == nil {
		l.statements = append(l.statements, s)
		l.open.Reset()
	}
}

// take returns the statements since the call before.
func (l *Log) take() []Statement {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.statements
	l.statements = nil
	return taken
}

// giveUp limits the wait for a plan in the log of the server.
const giveUp = 10 * time.Second

// TakeUntil returns the statements since the call before, until now. It executes a statement of its own
// by db, and waits until the server has logged its plan: the server logs a plan before it answers.
func (l *Log) TakeUntil(ctx context.Context, db *sql.DB) (all []Statement, err error) {
	l.markers++
	marker := fmt.Sprintf(`SELECT 'marker %d'`, l.markers)
	if _, err := db.ExecContext(ctx, marker); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, giveUp)
	defer cancel()
	for wait.For(ctx, time.Millisecond) {
		for _, st := range l.take() {
			if st.Query == marker {
				return all, nil
			}
			all = append(all, st)
		}
	}
	return nil, errors.New("the server has not logged the plan of " + marker)
}

// Reads returns how many rows of tables, and how many entries of indexes without their rows, the node
// and those below it have read. If relation is not empty, it counts those of this table only.
func (p Node) Reads(relation string) (rows, entries float64) {
	read := (p.Rows + p.Removed) * p.Loops
	switch {
	case p.Type == "ModifyTable" || relation != "" && p.Relation != relation:
	case p.Type == "Bitmap Index Scan" || p.Type == "Index Only Scan":
		entries = read
	case p.Relation != "":
		rows = read
	}
	for _, child := range p.Plans {
		r, e := child.Reads(relation)
		rows, entries = rows+r, entries+e
	}
	return rows, entries
}

// Print writes the plan, each node on a line.
func (p Node) Print(out *strings.Builder, depth int) {
	fmt.Fprintf(out, "%s-> %s", strings.Repeat("  ", depth), p.Type)
	for _, name := range []string{p.Relation, p.Index} {
		if name != "" {
			out.WriteString(" " + name)
		}
	}
	fmt.Fprintf(out, ": %.0f rows × %.0f, %.2f ms, blocks %d + %d read", p.Rows, p.Loops, p.Time*p.Loops, p.Hit, p.Read)
	if p.Filter != "" {
		fmt.Fprintf(out, ", %.0f rows removed by %s", p.Removed*p.Loops, p.Filter)
	}
	out.WriteString("\n")
	for _, child := range p.Plans {
		child.Print(out, depth+1)
	}
}
