package routing

import (
	"context"
	"errors"
	"slices"
	"strings"
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

// Services answer questions about destinations, routes and silences, and change them. Their
// methods may be called concurrently.
type Services struct {
	Destinations *DestinationService
	Routes       *RouteService
	Silences     *SilenceService
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
		Destinations: &DestinationService{store, store, cfg.Test, cfg.NewID, cfg.Now},
		Routes:       &RouteService{store, store, cfg.NewID},
		Silences:     &SilenceService{store, cfg.Subjects, cfg.NewID, cfg.Now},
		Explainer:    &Explainer{store, store, store, cfg.Subjects, cfg.Now},
		Replays:      &ReplayService{store, cfg.Replay},
	}, nil
}

// joinProblems joins the errors of fields that could not be read with those of the checks. A
// field that could not be read is named once: the checks see it without its value.
func joinProblems(unreadable []monitor.FieldError, checked []error) error {
	var all []error
	for _, e := range unreadable {
		all = append(all, e.Err)
	}
	for _, err := range checked {
		coded, _ := errors.AsType[*monitor.Error](err)
		isNamed := func(e monitor.FieldError) bool { return coded != nil && isAbout(coded.Message, e.Field) }
		if !slices.ContainsFunc(unreadable, isNamed) {
			all = append(all, err)
		}
	}
	return monitor.Join(all...)
}

// isAbout reports whether a message of a check begins with a field or with one inside it.
func isAbout(message, field string) bool {
	rest, ok := strings.CutPrefix(message, field)
	return ok && rest != "" && strings.ContainsRune(" .:", rune(rest[0]))
}

// hasCode reports whether an error has a code.
func hasCode(err error, code monitor.Code) bool {
	coded, ok := errors.AsType[*monitor.Error](err)
	return ok && coded.Code == code
}

func refusef(format string, args ...any) error {
	return monitor.Errorf(monitor.InvalidConfig, format, args...)
}
