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
	StartsAt       *time.Time    // zero: now
	EndsAt         *time.Time    // zero: none
	UntilRecovered *bool
	Window         *notify.Window // as a whole
	NoWindow       bool           // the silence has no window any more
	SkipUntil      *time.Time     // zero: nothing is skipped
	CreatedBy      *string
	Comment        *string
	Owner          *string // empty: none

	Unreadable []error // *monitor.Error of fields that could not be decoded
}

func (c SilenceChange) apply(s *notify.Silence, now time.Time) {
	set(&s.Match, c.Match)
	set(&s.StartsAt, c.StartsAt)
	set(&s.EndsAt, c.EndsAt)
	set(&s.UntilRecovered, c.UntilRecovered)
	if c.Window != nil || c.NoWindow {
		s.Window = c.Window
	}
	if c.NoWindow {
		s.SkipUntil = time.Time{}
	}
	set(&s.SkipUntil, c.SkipUntil)
	set(&s.CreatedBy, c.CreatedBy)
	set(&s.Comment, c.Comment)
	set(&s.Owner, c.Owner)
	if s.Window != nil && s.Window.Zone == nil {
		_ = s.Window.LoadZone(time.LoadLocation) // Check refuses a window without a zone
	}
	if s.StartsAt.IsZero() {
		s.StartsAt = now.UTC().Truncate(time.Millisecond)
	}
}

// SilenceWithState is a stored silence with its state.
type SilenceWithState struct {
	notify.Silence

	State      notify.SilenceState `json:"state"`
	NextAt     time.Time           `json:"next_at"`             // when State changes; zero: never, or at a time that is not known
	Everything bool                `json:"everything"`          // it holds back the messages about every incident of every stream
	Incidents  []string            `json:"incidents,omitempty"` // IDs of the open incidents that it holds back; only in lists
}

// SilenceService answers questions about silences, and changes them.
type SilenceService struct {
	SilenceReader

	store    SilenceWriter
	subjects SubjectReader
	newID    func() string
	now      func() time.Time
}

// List returns the silences in a state, newest first; an empty state selects all.
func (s *SilenceService) List(ctx context.Context, in notify.SilenceState) ([]SilenceWithState, error) {
	records, err := s.Silences(ctx)
	if err != nil {
		return nil, err
	}
	selected := []SilenceWithState{}
	for _, r := range records {
		if silence := s.withState(r); in == "" || in == silence.State {
			selected = append(selected, silence)
		}
	}
	return selected, s.addIncidents(ctx, selected)
}

// addIncidents adds to active silences the incidents that they hold back.
func (s *SilenceService) addIncidents(ctx context.Context, to []SilenceWithState) error {
	isActive := func(silence SilenceWithState) bool { return silence.State == notify.SilenceActive }
	if !slices.ContainsFunc(to, isActive) {
		return nil
	}
	subjects, err := s.subjects.OpenSubjects(ctx)
	if err != nil {
		return err
	}
	for n, silence := range to {
		for _, subject := range subjects {
			if isActive(silence) && silence.Match.Matches(subject) {
				to[n].Incidents = append(to[n].Incidents, subject.IncidentID)
			}
		}
	}
	return nil
}

// Get returns one silence. Errors: *monitor.Error SilenceNotFound.
func (s *SilenceService) Get(ctx context.Context, id string) (SilenceWithState, error) {
	r, err := s.Silence(ctx, id)
	return s.withState(r), err
}

// Create creates a silence. Without a start it begins now, by the clock of the store. Errors:
// *monitor.Error InvalidConfig that names every wrong field.
func (s *SilenceService) Create(ctx context.Context, c SilenceChange) (SilenceWithState, error) {
	now, err := s.store.CurrentTime(ctx)
	if err != nil {
		return SilenceWithState{}, err
	}
	return s.create(ctx, now, s.newID(), c)
}

func (s *SilenceService) create(ctx context.Context, now time.Time, id string, c SilenceChange) (SilenceWithState, error) {
	silence := notify.Silence{ID: id}
	c.apply(&silence, now)
	if err := joinProblems(c.Unreadable, silence.Check(now)); err != nil {
		return SilenceWithState{}, err
	}
	r, err := s.store.CreateSilence(ctx, silence)
	return s.withState(r), err
}

// silenceOfLink is the duration of the silence that the link of a message makes (section 19.3).
const silenceOfLink = time.Hour

// CreateForMonitor silences a monitor for an hour, by the clock of the store. The same id creates
// one silence, whose CreatedBy and EndsAt are then those of the first call. Errors:
// *monitor.Error InvalidConfig.
func (s *SilenceService) CreateForMonitor(ctx context.Context, id string, of monitor.ID, by, comment string) (SilenceWithState, error) {
	now, err := s.store.CurrentTime(ctx)
	if err != nil {
		return SilenceWithState{}, err
	}
	to := now.Add(silenceOfLink).UTC().Truncate(time.Second)
	return s.create(ctx, now, id, SilenceChange{Match: &notify.Match{Monitors: []monitor.ID{of}}, EndsAt: &to, CreatedBy: &by, Comment: &comment})
}

// Change changes a silence, and stores it even if nothing differs. Errors: *monitor.Error SilenceNotFound; InvalidConfig
// that names every wrong field, or for a silence that has ended.
func (s *SilenceService) Change(ctx context.Context, id string, c SilenceChange) (SilenceWithState, error) {
	r, err := s.store.ChangeSilence(ctx, id, func(silence *notify.Silence) error {
		now := s.now()
		c.apply(silence, now)
		return joinProblems(c.Unreadable, silence.Check(now))
	})
	return s.withState(r), err
}

// End ends a silence. One that has ended already stays as it is. Errors:
// *monitor.Error SilenceNotFound.
func (s *SilenceService) End(ctx context.Context, id string) (SilenceWithState, error) {
	r, err := s.store.EndSilence(ctx, id)
	return s.withState(r), err
}

func (s *SilenceService) withState(of notify.Silence) SilenceWithState {
	now := s.now()
	silence := SilenceWithState{Silence: of, State: of.State(now), Everything: of.OfEverything()}
	switch until := of.ActiveUntil(now); {
	case silence.State == notify.SilenceScheduled:
		silence.NextAt = of.NextAt(now)
	case silence.State == notify.SilenceActive && until.Before(notify.Forever):
		silence.NextAt = until
	}
	return silence
}
