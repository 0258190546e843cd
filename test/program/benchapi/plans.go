package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/stream-monitor/stream-monitor/test/harness/plans"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// explainQuestions sends each request twice and writes the last plan of each statement to
// a file. It leaves out the statements that a gateway without requests also sends.
func explainQuestions(ctx context.Context, c system.Config, conn *sqlx.DB, log *plans.Log, questions []question, path string) (err error) {
	if _, err := conn.ExecContext(ctx, plans.ExplainAll); err != nil {
		return err
	}
	defer func() {
		_, undone := conn.ExecContext(ctx, plans.ExplainNone)
		err = errors.Join(err, undone)
	}()
	s, err := system.Start(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	own := map[string]bool{}
	time.Sleep(6 * time.Second) // the supervisor compares every 5 s
	for _, st := range log.Take() {
		own[st.Query] = true
	}
	var out strings.Builder
	for _, q := range questions {
		log.Take()
		for range 2 {
			if _, err := fetch(ctx, http.DefaultClient, s.URL()+q.path); err != nil {
				return fmt.Errorf("%s: %w; the gateway's log ends:\n%s", q.name, err, s.Tail(3))
			}
		}
		time.Sleep(100 * time.Millisecond)
		fmt.Fprintf(&out, "## %s\nGET %s\n", q.name, q.path)
		statements := log.Take()
		for i, st := range statements {
			repeated := slices.ContainsFunc(statements[i+1:], func(later plans.Statement) bool { return later.Query == st.Query })
			if !own[st.Query] && !repeated {
				fmt.Fprintf(&out, "\n%s\n", strings.TrimSpace(st.Query))
				st.Plan.Print(&out, 1)
			}
		}
		out.WriteString("\n")
	}
	return os.WriteFile(path, []byte(out.String()), 0o600)
}
