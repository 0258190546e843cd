//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// harm is what -break does by hand, once calm has come, to see the run fail.
type harm struct {
	what string
	do   func(context.Context, *site) error
}

// harms are those that there are. Each must make a run fail, or the run proves
// nothing.
var harms = map[string]*harm{
	"drop":    {"an accepted event is deleted", alterOne(`DELETE FROM monitor_events WHERE id = $1`)},
	"unsend":  {"an accepted event counts as sent and never is", unsend},
	"twice":   {"an event is delivered once more, with no fault near", alterOne(`UPDATE monitor_events SET webhook_status = 'pending', next_attempt_at = now() WHERE id = $1`)},
	"alter":   {"an event is delivered once more, with other bytes", alterOne(`UPDATE monitor_events SET webhook_status = 'pending', next_attempt_at = now(), body = replace(body, '"event_id"', ' "event_id"') WHERE id = $1`)},
	"back":    {"statistics go backwards", alterOne(`UPDATE monitor_stats SET total_segments = 1 WHERE monitor_id = (SELECT monitor_id FROM monitor_events WHERE id = $1)`)},
	"policy":  {"MISSING_WORKER=error, and a worker is killed", killWorker},
	"fencing": {"a second worker of the same generation is started", secondWorker},
	"orphan":  {"a process is started that nobody ends", orphan},
	"file":    {"a temporary file is left behind", func(_ context.Context, s *site) error { return os.WriteFile(s.tmp+"/forgotten", nil, 0o600) }},
	"leak":    {"connections to the database are left open", leak},
}

// alterOne does something to an event that has been delivered.
func alterOne(statement string) func(context.Context, *site) error {
	return func(ctx context.Context, s *site) error {
		pause(ctx, 2*near)
		return s.ask(ctx, func(db *sql.DB) error {
			var id string
			if err := db.QueryRowContext(ctx, `SELECT id FROM monitor_events WHERE event_type LIKE 'alert.%' ORDER BY seq DESC LIMIT 1`).Scan(&id); err != nil {
				return err
			}
			s.note("sabotage: event %s", id)
			_, err := db.ExecContext(ctx, statement, id)
			return err
		})
	}
}

// unsend stores an event that nobody sends.
func unsend(ctx context.Context, s *site) error {
	return s.ask(ctx, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, `
			INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
			SELECT gen_random_uuid(), monitor_id, event_type, payload, body, 'sent', now() FROM monitor_events LIMIT 1`)
		return err
	})
}

// worker is one that runs.
func (s *site) worker() (process, error) {
	for _, p := range s.census.fresh(s.tmp) {
		if p.role == workerRole && !p.zombie() {
			return p, nil
		}
	}
	return process{}, errNobody
}

func killWorker(ctx context.Context, s *site) error {
	p, err := s.worker()
	if err == nil {
		p.signal(killSignal)
		pause(ctx, 4*time.Second)
	}
	return err
}

// start runs a program in the environment of a site's worker.
func (s *site) start(ctx context.Context, program string, args ...string) error {
	p, err := s.worker()
	if err != nil {
		return err
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
	if err != nil {
		return err
	}
	cmd := exec.Command(program, args...) // that it goes on is the point
	cmd.Env = strings.Split(strings.Trim(string(env), "\x00"), "\x00")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	pause(ctx, 2*time.Second)
	return nil
}

func secondWorker(ctx context.Context, s *site) error { return s.start(ctx, s.binary, "worker") }
func orphan(ctx context.Context, s *site) error       { return s.start(ctx, "sleep", "600") }

// leak opens connections as the gateway would.
func leak(ctx context.Context, s *site) error {
	if s.database == nil {
		return errors.New("this seed has no database of its own; take another")
	}
	db, err := sql.Open("postgres", s.database.dsn(s.database.address())+"&application_name=stream-monitor")
	if err != nil {
		return err
	}
	for range mostConnections + 1 {
		conn, err := db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("open a connection: %w", err)
		}
		if err := conn.PingContext(ctx); err != nil {
			return err
		}
	}
	return nil
}
