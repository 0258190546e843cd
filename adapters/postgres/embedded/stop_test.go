package embedded_test

import (
	"database/sql"
	"log/slog"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/test/harness/logbuffer"
)

// The backend of a connection that has just been closed may still run, so the
// server ends some in every orderly stop.
func TestAnOrderlyStopLogsNoWarning(t *testing.T) {
	log := &logbuffer.Buffer{}
	s, err := embedded.Start(t.Context(), embedded.Config{
		DataDir: t.TempDir(),
		Log:     slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("postgres", s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop(t, s)
	if !log.Contains("terminating connection due to administrator command") {
		t.Fatalf("the server ended no connection, so nothing was tested:\n%s", log)
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			t.Errorf("logged: %s", line)
		}
	}
}
