package incidents

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of incidents and of the actions on them.
const (
	DefaultPage = 50
	MaxPage     = 200
	MaxLog      = 1000 // lines that one incident shows, the newest; an action beyond is refused
	maxNote     = 2000 // characters
	maxBy       = 100  // characters
)

// SweepEvery is the interval at which the elected gateway looks for incidents
// that time alone changes.
const SweepEvery = 2 * time.Second

// ErrOpReused refuses an op_id that came with another action on the same incident.
var ErrOpReused = errors.New("the op_id came with another action")

// Incident is a stored incident.
type Incident struct {
	incident.Incident

	Seq       int64 // its place in lists, ascending
	MonitorID monitor.ID
	StreamURL monitor.StreamURL
	Labels    monitor.Labels // of the monitor, as they are now
	UpdatedAt time.Time

	// Hints held during it, or ended at most HintsBefore before its onset. They are the newest MaxHints, in the
	// order in which they began. Lists have none.
	Hints []monitor.Hint
}

// HintsBefore is how long before an incident a hint may have ended that is shown with it. Sound that dies away is
// silent in the end, and its hint is over by then.
const HintsBefore = 10 * time.Minute

// MaxHints limits the hints of an incident.
const MaxHints = 20

// Filter selects incidents. A zero field selects all.
type Filter struct {
	State       incident.State
	Condition   incident.Name
	MinSeverity int
	MonitorID   monitor.ID
	Labels      monitor.Labels // of monitors that have all of these
	From, To    time.Time      // incidents that were not resolved before From and were opened before To
	Before      int64          // only places before this one; 0: from the newest on
	Limit       int            // 1 to MaxPage
}

// Action is one action of an operator on an incident.
type Action struct {
	OpID          string             // the caller's: the same one happens once
	Kind          incident.EntryKind // Acknowledged, WasResolved, Noted, Labelled
	By            string
	Text          string // of a note
	FalsePositive *bool  // of a label
}

// Input is the action as a Tracker takes it in.
func (a Action) Input() incident.Input {
	switch a.Kind {
	case incident.Acknowledged:
		return incident.Acknowledge{By: a.By}
	case incident.WasResolved:
		return incident.Resolve{By: a.By}
	case incident.Labelled:
		return incident.Label{By: a.By, FalsePositive: a.FalsePositive}
	}
	return incident.Note{By: a.By, Text: a.Text}
}

// Matches reports whether a line of the log is of this action.
func (a Action) Matches(e incident.Entry) bool {
	return a.Kind == e.Kind && a.By == e.By && a.Text == e.Text &&
		(a.FalsePositive == nil) == (e.FalsePositive == nil) && (a.FalsePositive == nil || *a.FalsePositive == *e.FalsePositive)
}

// Store keeps incidents. Its methods may be called concurrently, by several
// gateways; each blocks for one exchange with the store.
type Store interface {
	// ListIncidents reads a page of incidents, newest first.
	ListIncidents(ctx context.Context, f Filter) ([]Incident, error)

	// GetIncident reads an incident and its log, oldest line first, at most the newest
	// MaxLog lines. Errors: *monitor.Error incident.NotFound.
	GetIncident(ctx context.Context, id string) (Incident, []incident.Entry, error)

	// ActOnIncident does an action, and returns its line of the log. An action that was
	// done before changes nothing and returns the same line. Errors: *monitor.Error
	// incident.NotFound, InvalidConfig when the log is full; ErrOpReused.
	ActOnIncident(ctx context.Context, id string, a Action) (incident.Entry, error)

	// SweepIncidents lets time change up to limit incidents that are due, and locks them for
	// a few exchanges with the store. more reports whether others may be due.
	SweepIncidents(ctx context.Context, limit int) (more bool, err error)
}

// Service answers questions about incidents, does what operators ask for, and
// lets time pass. Its methods may be called concurrently.
type Service struct{ store Store }

// NewService makes a Service.
func NewService(store Store) *Service { return &Service{store} }

func checkIncidentID(id string) error {
	if !monitor.IsUUID(id) {
		return monitor.Errorf(incident.NotFound, "no incident has the id %.60q: an id is a UUID", id)
	}
	return nil
}

// List returns a page of incidents, newest first. next is the place after which the next
// page begins; it is 0 for the last page. Errors: *monitor.Error InvalidConfig that names
// every wrong filter.
func (s *Service) List(ctx context.Context, f Filter) (page []Incident, next int64, err error) {
	if f.Limit == 0 {
		f.Limit = DefaultPage
	}
	if err := f.Check(); err != nil {
		return nil, 0, err
	}
	limit := f.Limit
	f.Limit++ // one more shows whether there is a next page
	page, err = s.store.ListIncidents(ctx, f)
	if err != nil {
		return nil, 0, err
	}
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].Seq
	}
	return page, next, nil
}

// Check returns one *monitor.Error InvalidConfig that names every wrong filter, or nil.
func (f Filter) Check() error {
	wrong := []error{monitor.ValidLimit(f.Limit, MaxPage)}
	refuse := func(format string, args ...any) {
		wrong = append(wrong, monitor.Errorf(monitor.InvalidConfig, format, args...))
	}
	if f.State != "" && !slices.Contains(incident.States(), f.State) {
		refuse("state is %.40q; accepted are open, resolved", f.State)
	}
	if f.Condition != "" && !slices.Contains(incident.Names(), f.Condition) {
		refuse("condition is %.40q; accepted are %s", f.Condition, join(incident.Names()))
	}
	if f.MinSeverity < 0 || f.MinSeverity > incident.MaxSeverity {
		refuse("severity is %d; accepted is 0 to %d", f.MinSeverity, incident.MaxSeverity)
	}
	for _, field := range []struct {
		name string
		at   time.Time
	}{{"from", f.From}, {"to", f.To}} {
		if !field.at.IsZero() {
			wrong = append(wrong, monitor.ValidTime(field.name, field.at))
		}
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.To.After(f.From) {
		refuse("to must be after from")
	}
	return monitor.Join(wrong...)
}

func join(names []incident.Name) string {
	words := make([]string, 0, len(names))
	for _, n := range names {
		words = append(words, string(n))
	}
	return strings.Join(words, ", ")
}

// Get returns an incident and its log. Errors: *monitor.Error incident.NotFound.
func (s *Service) Get(ctx context.Context, id string) (Incident, []incident.Entry, error) {
	if err := checkIncidentID(id); err != nil {
		return Incident{}, nil, err
	}
	return s.store.GetIncident(ctx, id)
}

var opIDForm = regexp.MustCompile(`^[!-~]{1,100}$`)

// Act does an action once, however often it is sent. Errors: those of
// Store.ActOnIncident; *monitor.Error InvalidConfig that names every wrong field.
func (s *Service) Act(ctx context.Context, id string, a Action) (incident.Entry, error) {
	if err := checkIncidentID(id); err != nil {
		return incident.Entry{}, err
	}
	if err := monitor.Join(a.Check()...); err != nil {
		return incident.Entry{}, err
	}
	return s.store.ActOnIncident(ctx, id, a)
}

// Check returns an error for every wrong field, each *monitor.Error InvalidConfig.
func (a Action) Check() (wrong []error) {
	if !opIDForm.MatchString(a.OpID) {
		wrong = append(wrong, monitor.FieldErrorf("op_id", "is %.40q; accepted are 1 to 100 visible ASCII characters", a.OpID))
	}
	if err := monitor.CheckText("by", a.By, 1, maxBy); err != nil {
		wrong = append(wrong, err)
	}
	if a.Kind != incident.Noted {
		return wrong
	}
	if err := monitor.CheckText("text", a.Text, 1, maxNote); err != nil {
		wrong = append(wrong, err)
	}
	return wrong
}

// sweepBatch bounds one transaction of a sweep.
const sweepBatch = 25

// Sweep resolves what has been quiet for long enough, and raises severities. The
// elected gateway runs it every SweepEvery; a second one at the same time does
// no harm.
func (s *Service) Sweep(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = s.store.SweepIncidents(ctx, sweepBatch); err != nil {
			return fmt.Errorf("sweep incidents: %w", err)
		}
	}
	return nil
}
