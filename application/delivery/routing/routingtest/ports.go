package routingtest

import (
	"context"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// TestSender is a routing.TestSender that keeps what it was asked for.
type TestSender struct {
	Sent   []notify.Destination
	Shown  []notify.MessageKind
	Result message.Result
}

// SendExample implements routing.TestSender.
func (s *TestSender) SendExample(_ context.Context, d notify.Destination, kind notify.MessageKind) message.Result {
	s.Sent, s.Shown = append(s.Sent, d), append(s.Shown, kind)
	return s.Result
}

// Replayer is a routing.Replayer of the deliveries in its list.
type Replayer struct {
	Fail       func(ctx context.Context, op string) error // as of Store
	Deliveries []string                                   // IDs
	Since      time.Time                                  // of the newest ReplayFailed
}

// Replay implements routing.Replayer.
func (r *Replayer) Replay(ctx context.Context, id string) error {
	if r.Fail != nil {
		if err := r.Fail(ctx, "Replay"); err != nil {
			return err
		}
	}
	if slices.Contains(r.Deliveries, id) {
		return nil
	}
	return monitor.Errorf(routing.DeliveryNotFound, "no delivery to a destination has the id %.60q", id)
}

// ReplayFailed implements routing.Replayer.
func (r *Replayer) ReplayFailed(ctx context.Context, since time.Time, _ string) (int, error) {
	if r.Fail != nil {
		if err := r.Fail(ctx, "ReplayFailed"); err != nil {
			return 0, err
		}
	}
	r.Since = since
	return len(r.Deliveries), nil
}

// Subjects is a routing.SubjectReader of the subjects in its list.
type Subjects struct {
	All    []notify.Subject
	Storms map[string]func() notify.Storm // by ID
}

// EventSubject implements routing.SubjectReader.
func (s *Subjects) EventSubject(_ context.Context, id string) (notify.Subject, error) {
	for _, subject := range s.All {
		if subject.EventID == id {
			return subject, nil
		}
	}
	return notify.Subject{}, monitor.Errorf(routing.EventNotFound, "no event has the id %.60q", id)
}

// IncidentSubject implements routing.SubjectReader.
func (s *Subjects) IncidentSubject(_ context.Context, id string) (notify.Subject, error) {
	for _, subject := range s.All {
		if subject.IncidentID == id && subject.EventID == "" {
			return subject, nil
		}
	}
	return notify.Subject{}, incident.UnknownID(id)
}

// Storm implements routing.SubjectReader.
func (s *Subjects) Storm(_ context.Context, id string) (notify.Storm, error) {
	if storm := s.Storms[id]; storm != nil {
		return storm(), nil
	}
	return notify.Storm{}, monitor.Errorf(routing.StormNotFound, "no storm has the id %.60q", id)
}

// OpenSubjects implements routing.SubjectReader: all incidents count as open.
func (s *Subjects) OpenSubjects(context.Context) (open []notify.Subject, err error) {
	for _, subject := range s.All {
		if subject.EventID == "" {
			open = append(open, subject)
		}
	}
	return open, nil
}
