package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/postgres/embedded"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

const (
	firstTryLimit       = 5 * time.Second // how long a start waits for the database; afterwards it continues without one
	firstMigrationLimit = time.Minute     // how long a start waits for the migration of a database that answers
	retryPause          = 250 * time.Millisecond
	retryPauseMax       = 2 * time.Second // retryPause doubles up to this
	warningInterval     = 10 * time.Second
	privateStopTimeout  = 10 * time.Second // how long a private database may take to stop
)

// reportDelay is how long the report of a calm stream waits for others to share its
// transaction. A thousand streams that check every 10 s then need two or three transactions
// a second instead of a hundred.
const reportDelay = 500 * time.Millisecond

// openDatabase starts the private database (decision P3), or opens the one of DB_DSN, even
// if that cannot be reached yet. closeStore closes it; a forced shutdown kills the private
// server. secrets encrypts the secrets of destinations; nil: they are neither read nor written. opinions is what second
// opinions may do to messages.
func openDatabase(ctx context.Context, forced forcedShutdown, f config.DatabaseFlags, secrets postgres.Secrets, opinions notify.OpinionPower, log *slog.Logger) (store *postgres.Store, closeStore func(), err error) {
	dsn, stop := f.DBDSN, func() {}
	if !f.HasExternalDatabase() {
		server, err := embedded.Start(ctx, embedded.Config{DataDir: f.DataDir, Log: log})
		if err != nil {
			return nil, nil, err
		}
		dsn = server.DSN()
		stop = func() {
			if err := withTimeout(forced, privateStopTimeout, server.Stop); err != nil {
				log.Warn("the private database did not stop in time and was killed", "component", "postgres", "error", err)
			}
		}
	}
	store, err = postgres.New(dsn, postgres.Config{Zone: time.Local, Log: log, Secrets: secrets, ReportDelay: reportDelay, Opinions: opinions})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return store, func() {
		if err := store.Close(); err != nil {
			log.Warn("the connections to the database could not be closed", "component", "postgres", "error", err)
		}
		stop()
	}, nil
}

// databaseSetup connects to the database and migrates it to the schema of this
// version. It waits while the database cannot be reached (section 10.4).
type databaseSetup struct {
	reach   func(context.Context) error // one try to connect; may be repeated
	migrate func(context.Context) error // may be repeated
	log     *slog.Logger
	done    chan struct{} // closed when a try has succeeded
}

func newDatabaseSetup(store *postgres.Store, sessions *keyring.SessionKeys, log *slog.Logger) *databaseSetup {
	return &databaseSetup{
		reach: store.Ping,
		migrate: func(ctx context.Context) error {
			if err := store.Migrate(ctx); err != nil {
				return err
			}
			if err := store.ResealSecrets(ctx); err != nil {
				return err
			}
			_, err := sessions.Key(ctx) // kept: from now on signing in does not need the database
			return err
		},
		log:  log,
		done: make(chan struct{}),
	}
}

func connectAndMigrate(ctx context.Context, store *postgres.Store) error {
	if err := store.Ping(ctx); err != nil {
		return err
	}
	return store.Migrate(ctx)
}

// asUsageError returns an error of the database as a usage error if a setting is wrong.
func asUsageError(err error) error {
	if errors.Is(err, postgres.ErrLostSecrets) || errors.Is(err, postgres.ErrSharedSessions) {
		return &config.UsageError{Problems: []string{err.Error()}}
	}
	return err
}

// tryOnce tries once, before any part is started. It returns permanent errors, such as a
// wrong password, and the error of ctx. After other failures retryUntilDone tries again.
func (s *databaseSetup) tryOnce(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, firstTryLimit)
	err := s.reach(limited)
	cancel()
	if err == nil {
		// Without its tables the gateway can answer no request.
		limited, cancel = context.WithTimeout(ctx, firstMigrationLimit)
		err = s.migrate(limited)
		cancel()
	}
	switch {
	case err == nil:
		close(s.done)
	case ctx.Err() != nil, postgres.IsPermanent(err):
		return err
	}
	return nil
}

// retryUntilDone tries until the database is set up or ctx is done, also after a permanent
// error. Workers may run by now, and they continue while the operator repairs the
// database.
func (s *databaseSetup) retryUntilDone(ctx context.Context) {
	began := time.Now()
	var warned time.Time
	for pause := retryPause; !s.isDone(); pause = min(2*pause, retryPauseMax) {
		err := s.reach(ctx)
		if err == nil {
			err = s.migrate(ctx)
		}
		switch {
		case err == nil:
			s.log.Info("the database is available", "waited_sec", time.Since(began).Seconds())
			close(s.done)
			return
		case ctx.Err() != nil:
			return
		case time.Since(warned) >= warningInterval:
			warned = time.Now()
			s.log.Warn("cannot reach and prepare the database, will try again; pods continue meanwhile: "+
				"check that the PostgreSQL of DB_DSN runs and accepts connections from this gateway", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (s *databaseSetup) isDone() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// wait blocks until the database is set up. It returns an error if ctx is done.
func (s *databaseSetup) wait(ctx context.Context) error {
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the database: %w", ctx.Err())
	}
}

// runAfterSetup delays a component until the database is set up.
func (s *databaseSetup) runAfterSetup(run func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		if s.wait(ctx) == nil {
			run(ctx)
		}
	}
}

// checkReady returns nil if the database can be used, else why it cannot.
func (s *databaseSetup) checkReady(ctx context.Context, ping func(context.Context) error) error {
	if err := ping(ctx); err != nil {
		return err
	}
	if !s.isDone() {
		return httpapi.StartingOrStopping("the database is still being migrated")
	}
	return nil
}

// electionAfterSetup is a Store whose leader election waits until the database is set up.
// The supervisor elects a leader before it reads anything else, so its start waits too.
type electionAfterSetup struct {
	supervisor.Store

	database *databaseSetup
}

// TryLead implements supervisor.Store.
func (s electionAfterSetup) TryLead(ctx context.Context) (bool, error) {
	if err := s.database.wait(ctx); err != nil {
		return false, err
	}
	return s.Store.TryLead(ctx)
}
