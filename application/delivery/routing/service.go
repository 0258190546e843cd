package routing

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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

// Replayer makes deliveries to destinations due again. Each method blocks for one
// transaction and may be called concurrently, by several gateways.
type Replayer interface {
	// Replay makes a delivery due. Errors: *monitor.Error DeliveryNotFound.
	Replay(ctx context.Context, deliveryID string) error

	// ReplayFailed makes those due that have failed and were created since a time; an
	// empty destinationID selects all destinations that are enabled.
	ReplayFailed(ctx context.Context, since time.Time, destinationID string) (replayed int, err error)
}

// DeliveryNotFound is the code of a delivery that does not exist.
const DeliveryNotFound monitor.Code = "DELIVERY_NOT_FOUND"

// Config holds what a Service uses.
type Config struct {
	NewID    func() string    // makes UUIDv7s; required
	Test     TestSender       // required
	Replay   Replayer         // required
	Subjects SubjectReader    // required
	Now      func() time.Time // default time.Now
}

// Service answers questions about destinations, routes and silences, and changes them. Its
// methods may be called concurrently.
type Service struct {
	store Store
	cfg   Config
}

// NewService makes a Service. Errors: cfg is not complete.
func NewService(store Store, cfg Config) (*Service, error) {
	if cfg.NewID == nil || cfg.Test == nil || cfg.Replay == nil || cfg.Subjects == nil {
		return nil, errors.New("routing: NewID, Test, Replay and Subjects are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Service{store, cfg}, nil
}

// Replay makes a delivery to a destination again. Errors: *monitor.Error DeliveryNotFound.
func (s *Service) Replay(ctx context.Context, deliveryID string) error {
	return s.cfg.Replay.Replay(ctx, deliveryID)
}

// ReplayFailed makes all deliveries again that have failed and were created since a time.
// An empty destinationID selects all destinations. Errors: *monitor.Error
// DestinationNotFound.
func (s *Service) ReplayFailed(ctx context.Context, since time.Time, destinationID string) (replayed int, err error) {
	if destinationID != "" {
		if _, err := s.store.Destination(ctx, destinationID); err != nil {
			return 0, err
		}
	}
	return s.cfg.Replay.ReplayFailed(ctx, since, destinationID)
}

// FieldError is the error of one field of a request.
type FieldError struct {
	Field string
	Err   error
}

// wrong joins the errors of fields that could not be read with those of the checks. A
// field that could not be read is named once: the checks see it without its value.
func wrong(unreadable []FieldError, checked []error) error {
	var all []error
	for _, e := range unreadable {
		all = append(all, e.Err)
	}
	for _, err := range checked {
		coded, _ := errors.AsType[*monitor.Error](err)
		isNamed := func(e FieldError) bool { return coded != nil && isAbout(coded.Message, e.Field) }
		if !slices.ContainsFunc(unreadable, isNamed) {
			all = append(all, err)
		}
	}
	return monitor.Join(all...)
}

// isAbout reports whether a message of a check begins with a field or with one inside it.
func isAbout(message, field string) bool {
	rest, is := strings.CutPrefix(message, field)
	return is && rest != "" && strings.ContainsRune(" .:", rune(rest[0]))
}

// hasCode reports whether an error has a code.
func hasCode(err error, code monitor.Code) bool {
	coded, is := errors.AsType[*monitor.Error](err)
	return is && coded.Code == code
}

// maxOwner is the maximum length of an owner, in characters.
const maxOwner = 100

func checkOwner(owner string) []error {
	if utf8.RuneCountInString(owner) <= maxOwner && !strings.ContainsFunc(owner, unicode.IsControl) {
		return nil
	}
	return []error{refusef("owner is %.40q…; accepted are up to %d characters on one line", owner, maxOwner)}
}

func refusef(format string, args ...any) error {
	return monitor.Errorf(monitor.InvalidConfig, format, args...)
}
