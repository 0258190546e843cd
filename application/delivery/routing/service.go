package routing

import (
	"context"
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// TestSender sends an example to a destination once, in the real rendering. kind is
// notify.Opened or notify.Recovered. It stores nothing, blocks for at most
// delivery.SendTimeout and may be called concurrently. A failure is in the Result.
type TestSender interface {
	SendExample(ctx context.Context, d notify.Destination, kind notify.MessageKind) message.Result
}

// Config holds what the services use.
type Config struct {
	NewID    func() string    // makes UUIDv7s; required
	Test     TestSender       // required
	Replay   Replayer         // required
	Subjects SubjectReader    // required
	Now      func() time.Time // default time.Now
}

// Services answer questions about destinations, routes, silences and duty, and change them. Their
// methods may be called concurrently.
type Services struct {
	Destinations *DestinationService
	Routes       *RouteService
	Silences     *SilenceService
	Duty         *DutyService
	Explainer    *Explainer
	Replays      *ReplayService
}

// NewServices makes the services. Errors: cfg is not complete.
func NewServices(store Store, cfg Config) (*Services, error) {
	if cfg.NewID == nil || cfg.Test == nil || cfg.Replay == nil || cfg.Subjects == nil {
		return nil, errors.New("routing: NewID, Test, Replay and Subjects are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Services{
		Destinations: &DestinationService{store, store, store, cfg.Test, cfg.NewID, cfg.Now},
		Routes:       &RouteService{store, store, store, store, cfg.NewID},
		Silences:     &SilenceService{store, store, cfg.Subjects, cfg.NewID, cfg.Now},
		Duty:         &DutyService{store, store, cfg.NewID, cfg.Now},
		Explainer:    &Explainer{store, cfg.Subjects, cfg.Now},
		Replays:      &ReplayService{cfg.Replay, store},
	}, nil
}

// joinProblems joins the errors of fields that could not be read with those of the checks. It
// names each field once.
func joinProblems(unreadable, checked []error) error {
	return monitor.Join(monitor.NamedOnce(unreadable, checked)...)
}

// hasCode reports whether an error has a code.
func hasCode(err error, code monitor.Code) bool {
	coded, ok := errors.AsType[*monitor.Error](err)
	return ok && coded.Code == code
}

func refusef(format string, args ...any) error {
	return monitor.Errorf(monitor.InvalidConfig, format, args...)
}
