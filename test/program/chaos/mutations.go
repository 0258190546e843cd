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
	"sync"
	"syscall"
	"time"
)

// mutation is a deliberate violation that -mutation applies once the service
// has recovered. The run must then fail.
type mutation struct {
	description string
	apply       func(context.Context, *environment) error
}

// mutations lists every mutation. A mutation that a run does not detect shows
// that a check is missing.
var mutations = map[string]*mutation{
	"drop":      {"an accepted event is deleted", alterAlert(`DELETE FROM monitor_events WHERE id = $1`)},
	"unsent":    {"an event is stored as sent and never is", insertUnsentEvent},
	"redeliver": {"an event is delivered again without a fault", alterAlert(`UPDATE deliveries SET state = 'pending', due_at = now() WHERE id = $1`)},
	"alter": {"an event is delivered again with other bytes", alterAlert(`
		WITH altered AS (UPDATE monitor_events SET body = replace(body, '"event_id"', ' "event_id"') WHERE id = $1)
		UPDATE deliveries SET state = 'pending', due_at = now() WHERE id = $1`)},
	"decrease": {"statistics decrease", alterAlert(`UPDATE monitor_stats SET total_segments = 1 WHERE monitor_id = (SELECT monitor_id FROM monitor_events WHERE id = $1)`)},
	"policy":   {"MISSING_WORKER=error, and a worker is killed", killAnyWorker},
	"fencing":  {"a second worker of the same generation is started", startSecondWorker},
	"orphan":   {"a process is started and not ended", startOrphan},
	"file": {"a temporary file is left behind", func(_ context.Context, env *environment) error {
		return os.WriteFile(env.tempDir+"/forgotten", []byte("forgotten"), 0o600)
	}},
	"evidence": {"a file of evidence loses its bytes", func(ctx context.Context, env *environment) error {
		return env.withDatabase(ctx, func(db *sql.DB) error {
			_, err := db.ExecContext(ctx, `DELETE FROM blob_chunks`)
			return err
		})
	}},
	"undelivered": {"a delivery to the webhook destination is deleted", alterAlert(`DELETE FROM deliveries WHERE event_id = $1 AND destination_id IS NOT NULL`)},
	"again":       {"an event is delivered to the webhook destination again without a fault", alterAlert(`UPDATE deliveries SET state = 'pending', due_at = now() WHERE event_id = $1 AND destination_id IS NOT NULL`)},
	"retold": {"an incident is told again without a fault", alterThread(`
		UPDATE deliveries SET told = NULL, state = 'pending', changed = true, due_at = now(), tried = 0, round_began_at = now() WHERE id = $1`)},
	"unresolved":     {"a channel is never told of a recovery", alterThread(`UPDATE deliveries SET told = told || '{"open": false}' WHERE id = $1`)},
	"unacknowledged": {"an acknowledgement that was answered is not stored", forgetAcknowledgements},
	"early":          {"a silence ends before its time", endSilenceEarly},
	"leak":           {"connections to the database are left open", leakConnections},
}

// alterAlert changes an alert that has been delivered.
func alterAlert(statement string) func(context.Context, *environment) error {
	return func(ctx context.Context, env *environment) error {
		pause(ctx, 2*causeWindow)
		return env.withDatabase(ctx, func(db *sql.DB) error {
			var id string
			if err := db.QueryRowContext(ctx, `SELECT id FROM monitor_events WHERE event_type LIKE 'alert.%' ORDER BY seq DESC LIMIT 1`).Scan(&id); err != nil {
				return err
			}
			env.logf("mutation: event %s", id)
			_, err := db.ExecContext(ctx, statement, id)
			return err
		})
	}
}

// alterThread changes what is stored of the messages about an open incident at the channel
// that only posts.
func alterThread(statement string) func(context.Context, *environment) error {
	return func(ctx context.Context, env *environment) error {
		pause(ctx, 2*causeWindow)
		return env.withDatabase(ctx, func(db *sql.DB) error {
			var id string
			if err := db.QueryRowContext(ctx, `
				SELECT x.id FROM deliveries x JOIN destinations d ON d.id = x.destination_id LEFT JOIN incidents i ON i.id = x.incident_id
				WHERE d.name = $1 AND x.told IS NOT NULL AND (i.state = 'open' OR NOT x.storm ? 'resolved_at') ORDER BY x.storm IS NULL LIMIT 1`,
				string(teamsChannel)).Scan(&id); err != nil {
				return err
			}
			env.logf("mutation: the messages of delivery %s", id)
			_, err := db.ExecContext(ctx, statement, id)
			pause(ctx, 3*time.Second) // while the incident is open
			return err
		})
	}
}

// forgetAcknowledgements deletes what the logs of incidents say of acknowledgements.
func forgetAcknowledgements(ctx context.Context, env *environment) error {
	return env.withDatabase(ctx, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, `DELETE FROM incident_log WHERE kind = 'acknowledged'`)
		return err
	})
}

// endSilenceEarly silences all, and ends that in the database. An incident that has something new
// to tell is then told.
func endSilenceEarly(ctx context.Context, env *environment) error {
	var silenced sync.WaitGroup
	silenced.Go(func() { env.runOperation(ctx, operation{kind: &allSilenced, duration: 10 * time.Second}) })
	defer silenced.Wait()
	pause(ctx, 2*sendMargin)
	if err := env.withDatabase(ctx, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, `
			WITH changed AS (UPDATE routing_version SET version = version + 1) UPDATE silences SET ended_at = now() WHERE ended_at IS NULL`)
		return err
	}); err != nil {
		return err
	}
	return alterThread(`
		UPDATE deliveries SET told = told || '{"severity": -1}', state = 'pending', changed = true, due_at = now(), tried = 0, round_began_at = now()
		WHERE id = $1`)(ctx, env)
}

// insertUnsentEvent stores an event as sent that was never sent.
func insertUnsentEvent(ctx context.Context, env *environment) error {
	return env.withDatabase(ctx, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, `
			INSERT INTO monitor_events (id, monitor_id, event_type, payload, body, webhook_status, created_at)
			SELECT gen_random_uuid(), monitor_id, event_type, payload, body, 'sent', now() FROM monitor_events LIMIT 1`)
		return err
	})
}

// anyWorker returns a running worker.
func (env *environment) anyWorker() (process, error) {
	for _, p := range env.processes.snapshot(env.tempDir) {
		if p.role == workerRole && !p.zombie() {
			return p, nil
		}
	}
	return process{}, errNoTarget
}

func killAnyWorker(ctx context.Context, env *environment) error {
	p, err := env.anyWorker()
	if err == nil {
		p.signal(killSignal)
		pause(ctx, 4*time.Second)
	}
	return err
}

// startLikeWorker runs a program with the environment variables of a worker.
func (env *environment) startLikeWorker(ctx context.Context, program string, args ...string) error {
	p, err := env.anyWorker()
	if err != nil {
		return err
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
	if err != nil {
		return err
	}
	cmd := exec.Command(program, args...) // without a context: it must outlive the run
	cmd.Env = strings.Split(strings.Trim(string(environ), "\x00"), "\x00")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	pause(ctx, 2*time.Second)
	return nil
}

func startSecondWorker(ctx context.Context, env *environment) error {
	return env.startLikeWorker(ctx, env.binary, "worker", "--end-with-input=off")
}
func startOrphan(ctx context.Context, env *environment) error {
	return env.startLikeWorker(ctx, "sleep", "600")
}

// leakConnections opens connections under the gateway's application name.
func leakConnections(ctx context.Context, env *environment) error {
	if env.database == nil {
		return errors.New("this seed uses the gateway's own database; choose another seed")
	}
	db, err := sql.Open("postgres", env.database.dsn(env.database.address())+"&application_name=stream-monitor")
	if err != nil {
		return err
	}
	for range maxConnections + 1 {
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

// listMutations formats the mutations for --help, one a line.
func listMutations() string {
	var list strings.Builder
	for _, name := range sortedKeys(mutations) {
		fmt.Fprintf(&list, "  %-14s %s\n", name, mutations[name].description)
	}
	return list.String()
}
