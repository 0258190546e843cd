package monitors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of a page (section 3.4, decision A7).
const (
	DefaultPage = 50
	MaxPage     = 200
	MaxOffset   = 1<<31 - 1
)

// settleTimeout is how long one change to the store may take.
const settleTimeout = 10 * time.Second

// Config configures the Services.
type Config struct {
	NewUUID      func() [16]byte  // makes UUIDv7s; required
	MaxMonitors  int              // MAX_MONITORS, ≥ 1; 0: 50 (section 8.5)
	CreatePerMin int              // RATE_LIMIT_CREATE_PER_MIN, for each client, 0 to MaxPerMin; 0: no limit (section 12.3)
	QueryPerMin  int              // RATE_LIMIT_QUERY_PER_MIN, for each client, 0 to MaxPerMin; 0: no limit
	ScheduleLead time.Duration    // SCHEDULE_LEAD_TIME, ≥ 0: time between the promotion of a reservation and its scheduled start (decision A10)
	Now          func() time.Time // nil: time.Now
	Zone         *time.Location   // for times in a test webhook (decision A11); nil: time.Local
	Log          *slog.Logger     // nil: slog.Default
	Resolver     StreamResolver   // for previews; nil: they do not tell the state of the stream
	CookieJars   CookieJars       // nil: there are none

	// WithSecret returns a context for a question about a stream that carries its secret; nil: none does.
	WithSecret func(context.Context, monitor.StreamSecret) context.Context
}

// Services answer callers.
type Services struct {
	Registrar *Registrar
	Previewer *Previewer
	Editor    *Editor
	Monitors  *MonitorReader
	Events    *EventService

	WebhookTester *WebhookTester
	RateLimiter   *RateLimiter
}

// NewServices makes the Services. Errors: a value of cfg is missing or out of its range.
func NewServices(store Store, workers WorkerManager, callbacks CallbackPolicy, testSender TestSender, cfg Config) (*Services, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("monitors: %w", err)
	}
	log := cfg.Log.With("component", "monitors")
	admission := admission{store, callbacks, cfg.CookieJars, cfg.NewUUID, cfg.MaxMonitors, cfg.ScheduleLead, cfg.Now}
	editor := &Editor{admission, store, workers, log}
	return &Services{
		Registrar:     &Registrar{admission, store, workers, editor, log},
		Previewer:     &Previewer{admission, cfg.Resolver, cfg.WithSecret, make(chan struct{}, MaxPreviews)},
		Editor:        editor,
		Monitors:      &MonitorReader{store, store},
		Events:        &EventService{store},
		WebhookTester: &WebhookTester{testSender, callbacks, cfg.NewUUID, cfg.Now, cfg.Zone},
		RateLimiter:   &RateLimiter{store, cfg.CreatePerMin, cfg.QueryPerMin},
	}, nil
}

// complete returns the configuration with its defaults.
func (cfg Config) complete() (Config, error) {
	if cfg.NewUUID == nil {
		return cfg, errors.New("NewUUID is required")
	}
	if cfg.MaxMonitors == 0 {
		cfg.MaxMonitors = 50
	}
	if cfg.MaxMonitors < 0 {
		return cfg, fmt.Errorf("MaxMonitors is %d; accepted is 1 or more", cfg.MaxMonitors)
	}
	for name, perMin := range map[string]int{"CreatePerMin": cfg.CreatePerMin, "QueryPerMin": cfg.QueryPerMin} {
		if perMin < 0 || perMin > MaxPerMin {
			return cfg, fmt.Errorf("%s is %d; accepted is 0 to %d", name, perMin, MaxPerMin)
		}
	}
	if cfg.ScheduleLead < 0 {
		return cfg, fmt.Errorf("ScheduleLead is %s; accepted is 0 or more", cfg.ScheduleLead)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Zone == nil {
		cfg.Zone = time.Local
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return cfg, nil
}

// settle runs a change to the store for at most settleTimeout. It continues if the caller
// disconnects, because a stored registration must be followed by the start of its worker.
func settle(ctx context.Context, task string, change func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	err := change(ctx)
	if err == nil {
		return nil
	}
	// The error of a database driver may not mention that the deadline has passed.
	return fmt.Errorf("%s: %w", task, errors.Join(err, ctx.Err()))
}

func checkPage(limit, offset int) error {
	if err := monitor.ValidLimit(limit, MaxPage); err != nil {
		return err
	}
	if offset < 0 || offset > MaxOffset {
		return monitor.Errorf(monitor.InvalidConfig, "offset is %d; accepted is 0 to %d", offset, MaxOffset)
	}
	return nil
}
