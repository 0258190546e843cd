package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// explainAll makes the server log the plan of every statement of new connections.
const explainAll = `
	LOAD 'auto_explain';
	ALTER ROLE CURRENT_USER SET session_preload_libraries = 'auto_explain';
	ALTER ROLE CURRENT_USER SET auto_explain.log_min_duration = 0;
	ALTER ROLE CURRENT_USER SET auto_explain.log_analyze = on;
	ALTER ROLE CURRENT_USER SET auto_explain.log_buffers = on;
	ALTER ROLE CURRENT_USER SET auto_explain.log_format = json`

// explainNone undoes explainAll.
const explainNone = `ALTER ROLE CURRENT_USER RESET ALL`

// statement is a logged statement with its plan.
type statement struct {
	Query string   `json:"Query Text"`
	Plan  planNode `json:"Plan"`
}

type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	Filter   string     `json:"Filter"`
	Removed  float64    `json:"Rows Removed by Filter"`
	Rows     float64    `json:"Actual Rows"`
	Loops    float64    `json:"Actual Loops"`
	Time     float64    `json:"Actual Total Time"` // ms, of one loop
	Hit      int        `json:"Shared Hit Blocks"`
	Read     int        `json:"Shared Read Blocks"`
	Plans    []planNode `json:"Plans"`
}

// planLog collects the plans that the server logs, line by line.
type planLog struct {
	mu         sync.Mutex
	open       strings.Builder
	statements []statement
}

var _ slog.Handler = (*planLog)(nil)

// Enabled implements slog.Handler.
func (l *planLog) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler.
func (l *planLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// WithGroup implements slog.Handler.
func (l *planLog) WithGroup(string) slog.Handler { return l }

// Handle implements slog.Handler.
func (l *planLog) Handle(_ context.Context, r slog.Record) error {
	l.line(r.Message)
	return nil
}

func (l *planLog) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.HasPrefix(text, "LOG:") {
		l.open.Reset()
		return
	}
	l.open.WriteString(text)
	var s statement
	if text == "}" && json.Unmarshal([]byte(l.open.String()), &s) == nil {
		l.statements = append(l.statements, s)
		l.open.Reset()
	}
}

// take returns the statements since the call before.
func (l *planLog) take() []statement {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.statements
	l.statements = nil
	return taken
}

// explainQuestions sends each request twice and writes the last plan of each statement to
// a file. It leaves out the statements that a gateway without requests also sends.
func explainQuestions(ctx context.Context, c system.Config, conn *sqlx.DB, log *planLog, questions []question, path string) (err error) {
	if _, err := conn.ExecContext(ctx, explainAll); err != nil {
		return err
	}
	defer func() {
		_, undone := conn.ExecContext(ctx, explainNone)
		err = errors.Join(err, undone)
	}()
	s, err := system.Start(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	own := map[string]bool{}
	time.Sleep(6 * time.Second) // the supervisor compares every 5 s
	for _, st := range log.take() {
		own[st.Query] = true
	}
	var out strings.Builder
	for _, q := range questions {
		log.take()
		for range 2 {
			if _, err := fetch(ctx, http.DefaultClient, s.URL()+q.path); err != nil {
				return fmt.Errorf("%s: %w; the gateway's log ends:\n%s", q.name, err, s.Tail(3))
			}
		}
		time.Sleep(100 * time.Millisecond)
		fmt.Fprintf(&out, "## %s\nGET %s\n", q.name, q.path)
		statements := log.take()
		for i, st := range statements {
			repeated := slices.ContainsFunc(statements[i+1:], func(later statement) bool { return later.Query == st.Query })
			if !own[st.Query] && !repeated {
				fmt.Fprintf(&out, "\n%s\n", strings.TrimSpace(st.Query))
				st.Plan.print(&out, 1)
			}
		}
		out.WriteString("\n")
	}
	return os.WriteFile(path, []byte(out.String()), 0o600)
}

func (p planNode) print(out *strings.Builder, depth int) {
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
		child.print(out, depth+1)
	}
}
