package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

const (
	firstTry    = 5 * time.Second // how long a start waits for its database until it goes on without
	tryPause    = 250 * time.Millisecond
	tryPauseMax = 2 * time.Second // it doubles up to this
	sayEvery    = 10 * time.Second
)

// preparation is the way to a database that can be used: it answers, and has the
// schema of this version. One that is away is waited for (section 10.4).
type preparation struct {
	try  func(context.Context) error // may be repeated
	log  *slog.Logger
	done chan struct{} // closed when a try has succeeded
}

func newPreparation(store *postgres.Store, log *slog.Logger) *preparation {
	return &preparation{
		try:  func(ctx context.Context) error { return prepare(ctx, store) },
		log:  log,
		done: make(chan struct{}),
	}
}

// prepare reaches the database and brings it to this version.
func prepare(ctx context.Context, store *postgres.Store) error {
	if err := store.Ping(ctx); err != nil {
		return err
	}
	return store.Migrate(ctx)
}

// begin tries once, before anything is started. Errors: what no waiting changes,
// and that ctx is done; all else is left to run.
func (p *preparation) begin(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, firstTry)
	defer cancel()
	err := p.try(limited)
	switch {
	case err == nil:
		close(p.done)
	case ctx.Err() != nil, postgres.Refused(err):
		return err
	}
	return nil
}

// run goes on trying until the database is prepared or ctx is done. What begin
// would have failed for is no reason to end any more: by now there may be
// workers, which go on while somebody mends it.
func (p *preparation) run(ctx context.Context) {
	began := time.Now()
	var said time.Time
	for pause := tryPause; !p.isDone(); pause = min(2*pause, tryPauseMax) {
		err := p.try(ctx)
		switch {
		case err == nil:
			p.log.Info("the database is there", "waited_sec", time.Since(began).Seconds())
			close(p.done)
			return
		case ctx.Err() != nil:
			return
		case time.Since(said) >= sayEvery:
			said = time.Now()
			p.log.Warn("cannot reach and prepare the database, will try again until it is there: "+
				"see that the PostgreSQL of DB_DSN runs and lets this gateway in; workers go on meanwhile", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (p *preparation) isDone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// wait blocks until the database is prepared. Errors: ctx is done.
func (p *preparation) wait(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the database: %w", ctx.Err())
	}
}

// before is a part that begins when the database is prepared.
func (p *preparation) before(run func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		if p.wait(ctx) == nil {
			run(ctx)
		}
	}
}

// ready tells whether the database answers and is prepared.
func (p *preparation) ready(ctx context.Context, ping func(context.Context) error) error {
	if err := ping(ctx); err != nil {
		return err
	}
	if !p.isDone() {
		return errors.New("the database is being prepared")
	}
	return nil
}

// patientRoster has whoever looks at the monitors, which begins with the
// election, wait for a database that is not prepared: so Reconcile's time runs,
// and it is at once there when the database is.
type patientRoster struct {
	supervisor.Store

	database *preparation
}

// TryLead implements supervisor.Store.
func (r patientRoster) TryLead(ctx context.Context) (bool, error) {
	if err := r.database.wait(ctx); err != nil {
		return false, err
	}
	return r.Store.TryLead(ctx)
}
