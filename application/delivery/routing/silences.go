package routing

import (
	"context"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// SilenceChange has the fields of a silence to create or to change. A nil field is left
// out.
type SilenceChange struct {
	Match          *notify.Match // as a whole
	From           *time.Time    // zero: now
	To             *time.Time    // zero: none
	UntilRecovered *bool
	Window         **notify.Window // as a whole
	By             *string
	Comment        *string
	Owner          *string // empty: none

	Unreadable []FieldError // fields that could not be decoded
}

func (c SilenceChange) apply(s *notify.Silence, now time.Time) {
	set(&s.Match, c.Match)
	set(&s.StartsAt, c.From)
	set(&s.EndsAt, c.To)
	set(&s.UntilRecovered, c.UntilRecovered)
	set(&s.Window, c.Window)
	set(&s.CreatedBy, c.By)
	set(&s.Comment, c.Comment)
	set(&s.Owner, c.Owner)
	if s.Window != nil && s.Window.Zone == nil {
		_ = s.Window.LoadZone(time.LoadLocation) // Check refuses a window without a zone
	}
	if s.StartsAt.IsZero() {
		s.StartsAt = now.UTC().Truncate(time.Millisecond)
	}
}

// Silence is a stored silence with its state.
type Silence struct {
	SilenceRecord

	State  notify.SilenceState
	NextAt time.Time // when State changes; zero: never, or at a time that is not known

	Incidents []string // IDs of the open incidents that it holds back; only in lists
}

// Silences returns the silences in a state, newest first; an empty state selects all.
func (s *Service) Silences(ctx context.Context, in notify.SilenceState) ([]Silence, error) {
	records, err := s.store.Silences(ctx)
	if err != nil {
		return nil, err
	}
	selected := []Silence{}
	for _, r := range records {
		if silence := s.withState(r); in == "" || in == silence.State {
			selected = append(selected, silence)
		}
	}
	return selected, s.addIncidents(ctx, selected)
}

// addIncidents adds to active silences the incidents that they hold back.
func (s *Service) addIncidents(ctx context.Context, to []Silence) error {
	isActive := func(silence Silence) bool { return silence.State == notify.SilenceActive }
	if !slices.ContainsFunc(to, isActive) {
		return nil
	}
	subjects, err := s.cfg.Subjects.OpenSubjects(ctx)
	if err != nil {
		return err
	}
	for n, silence := range to {
		for _, subject := range subjects {
			if isActive(silence) && silence.Match.Matches(subject.Subject) {
				to[n].Incidents = append(to[n].Incidents, subject.IncidentID)
			}
		}
	}
	return nil
}

// Silence returns one silence. Errors: *monitor.Error SilenceNotFound.
func (s *Service) Silence(ctx context.Context, id string) (Silence, error) {
	r, err := s.store.Silence(ctx, id)
	return s.withState(r), err
}

// CreateSilence creates a silence. Errors: *monitor.Error InvalidConfig that names every
// wrong field.
func (s *Service) CreateSilence(ctx context.Context, c SilenceChange) (Silence, error) {
	return s.createSilence(ctx, s.cfg.NewID(), c)
}

func (s *Service) createSilence(ctx context.Context, id string, c SilenceChange) (Silence, error) {
	now := s.cfg.Now()
	silence := notify.Silence{ID: id}
	c.apply(&silence, now)
	if err := wrong(c.Unreadable, append(silence.Check(now), checkOwner(silence.Owner)...)); err != nil {
		return Silence{}, err
	}
	r, err := s.store.CreateSilence(ctx, silence)
	return s.withState(r), err
}

// silenceOfLink is the duration of the silence that the link of a message makes (section 19.3).
const silenceOfLink = time.Hour

// SilenceMonitor silences a monitor for an hour. The same id creates one silence, whose By
// and To are then those of the first call. Errors: *monitor.Error InvalidConfig.
func (s *Service) SilenceMonitor(ctx context.Context, id string, of monitor.ID, by, comment string) (Silence, error) {
	to := s.cfg.Now().Add(silenceOfLink).UTC().Truncate(time.Second)
	return s.createSilence(ctx, id, SilenceChange{Match: &notify.Match{Monitors: []monitor.ID{of}}, To: &to, By: &by, Comment: &comment})
}

// ChangeSilence changes a silence. Errors: *monitor.Error SilenceNotFound; InvalidConfig
// that names every wrong field, or for a silence that has ended.
func (s *Service) ChangeSilence(ctx context.Context, id string, c SilenceChange) (Silence, error) {
	r, err := s.store.ChangeSilence(ctx, id, func(silence *notify.Silence) error {
		now := s.cfg.Now()
		c.apply(silence, now)
		return wrong(c.Unreadable, append(silence.Check(now), checkOwner(silence.Owner)...))
	})
	return s.withState(r), err
}

// EndSilence ends a silence. One that has ended already stays as it is. Errors:
// *monitor.Error SilenceNotFound.
func (s *Service) EndSilence(ctx context.Context, id string) (Silence, error) {
	r, err := s.store.EndSilence(ctx, id)
	return s.withState(r), err
}

func (s *Service) withState(r SilenceRecord) Silence {
	now := s.cfg.Now()
	if !r.EndedAt.IsZero() {
		return Silence{SilenceRecord: r, State: notify.SilenceEnded}
	}
	silence := Silence{SilenceRecord: r, State: r.State(now), NextAt: r.NextAt(now)}
	if until := r.ActiveUntil(now); silence.State == notify.SilenceActive && until.Before(notify.Forever) {
		silence.NextAt = until
	}
	return silence
}
