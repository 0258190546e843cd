package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
)

func TestASharedSessionIsRefusedByName(t *testing.T) {
	pair := startPair(t)
	for _, mode := range []string{"session", "transaction", "statement"} {
		t.Run(mode, func(t *testing.T) {
			dsn := must(pair.Pool(t.Context(), mode))(t)
			s := must(postgres.New(dsn, postgres.Config{}))(t)
			defer s.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var err error
			eventually(t, "PgBouncer answers", func() bool {
				err = s.Ping(ctx)
				return err == nil || postgres.IsPermanent(err) || ctx.Err() != nil
			})
			if mode != "session" {
				if !errors.Is(err, postgres.ErrSharedSessions) || !postgres.IsPermanent(err) || !strings.Contains(err.Error(), "pool_mode=session") {
					t.Errorf("the error is %v", err)
				}
				return
			}
			check(t, err)
			check(t, s.Migrate(ctx))
			<-s.Listen(ctx)
			if !tryLead(t, s) {
				t.Error("it does not lead")
			}
			heartbeat(t, s, "a")
			register(t, s, 1)
		})
	}
}
