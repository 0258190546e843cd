package record

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of incidents and of the actions on them.
const (
	DefaultIncidentPage = 50
	MaxIncidentPage     = 200
	MaxIncidentLog      = 1000 // lines that one incident shows, the newest; an action beyond is refused
	maxNote             = 2000 // characters
	maxBy               = 100  // characters
)

// SweepIncidentsEvery is the interval at which the elected gateway looks for incidents
// that time alone changes.
const SweepIncidentsEvery = 2 * time.Second

// IncidentNotFound is the code of an incident that does not exist.
const IncidentNotFound monitor.Code = "INCIDENT_NOT_FOUND"

// ErrOpReused refuses an op_id that came with another action on the same incident.
var ErrOpReused = errors.New("the op_id came with another action")

// Incident is a stored incident.
type Incident struct {
	incident.Incident

	Seq       int64 // its place in lists, ascending
	MonitorID monitor.ID
	StreamURL monitor.StreamURL
	UpdatedAt time.Time
}

// IncidentFilter selects incidents. A zero field selects all.
type IncidentFilter struct {
	State       incident.State
	Condition   incident.Name
	MinSeverity int
	MonitorID   monitor.ID
	From, To    time.Time // incidents that were not resolved before From and were opened before To
	Before      int64     // only places before this one; 0: from the newest on
	Limit       int       // 1 to MaxIncidentPage
}

// IncidentAction is one action of an operator on an incident.
type IncidentAction struct {
	OpID          string             // the caller's: the same one happens once
	Kind          incident.EntryKind // Acknowledged, WasResolved, Noted, Labelled
	By            string
	Text          string // of a note
	FalsePositive *bool  // of a label
}

// Input is the action as a Tracker takes it in.
func (a IncidentAction) Input() incident.Input {
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
func (a IncidentAction) Matches(e incident.Entry) bool {
	return a.Kind == e.Kind && a.By == e.By && a.Text == e.Text &&
		(a.FalsePositive == nil) == (e.FalsePositive == nil) && (a.FalsePositive == nil || *a.FalsePositive == *e.FalsePositive)
}

// IncidentStore keeps incidents. Its methods may be called concurrently, by several
// gateways; each blocks for one exchange with the store.
type IncidentStore interface {
	// ListIncidents reads a page of incidents, newest first.
	ListIncidents(ctx context.Context, f IncidentFilter) ([]Incident, error)

	// GetIncident reads an incident and its log, oldest line first, at most the newest
	// MaxIncidentLog lines. Errors: *monitor.Error IncidentNotFound.
	GetIncident(ctx context.Context, id string) (Incident, []incident.Entry, error)

	// ActOnIncident does an action, and returns its line of the log. An action that was
	// done before changes nothing and returns the same line. Errors: *monitor.Error
	// IncidentNotFound, InvalidConfig when the log is full; ErrOpReused.
	ActOnIncident(ctx context.Context, id string, a IncidentAction) (incident.Entry, error)

	// SweepIncidents lets time change up to limit incidents that are due, and locks them for
	// a few exchanges with the store. more reports whether others may be due.
	SweepIncidents(ctx context.Context, limit int) (more bool, err error)
}

// IncidentService answers questions about incidents, does what operators ask for, and
// lets time pass. Its methods may be called concurrently.
type IncidentService struct{ store IncidentStore }

// NewIncidentService makes an IncidentService.
func NewIncidentService(store IncidentStore) *IncidentService { return &IncidentService{store} }

var incidentIDForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func checkIncidentID(id string) error {
	if !incidentIDForm.MatchString(id) {
		return monitor.Errorf(IncidentNotFound, "no incident has the id %.60q: an id is a UUID in lower case", id)
	}
	return nil
}

// List returns a page of incidents, newest first. next is the place after which the next
// page begins; it is 0 for the last page. Errors: *monitor.Error InvalidConfig that names
// every wrong filter.
func (s *IncidentService) List(ctx context.Context, f IncidentFilter) (page []Incident, next int64, err error) {
	if f.Limit == 0 {
		f.Limit = DefaultIncidentPage
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
func (f IncidentFilter) Check() error {
	var wrong []error
	refuse := func(format string, args ...any) {
		wrong = append(wrong, monitor.Errorf(monitor.InvalidConfig, format, args...))
	}
	if f.Limit < 1 || f.Limit > MaxIncidentPage {
		refuse("limit is %d; accepted is 1 to %d", f.Limit, MaxIncidentPage)
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

// Get returns an incident and its log. Errors: *monitor.Error IncidentNotFound.
func (s *IncidentService) Get(ctx context.Context, id string) (Incident, []incident.Entry, error) {
	if err := checkIncidentID(id); err != nil {
		return Incident{}, nil, err
	}
	return s.store.GetIncident(ctx, id)
}

var opIDForm = regexp.MustCompile(`^[!-~]{1,100}$`)

// Act does an action once, however often it is sent. Errors: those of
// IncidentStore.ActOnIncident; *monitor.Error InvalidConfig that names every wrong field.
func (s *IncidentService) Act(ctx context.Context, id string, a IncidentAction) (incident.Entry, error) {
	if err := checkIncidentID(id); err != nil {
		return incident.Entry{}, err
	}
	var wrong []error
	for _, e := range a.Check() {
		wrong = append(wrong, e.Err)
	}
	if err := monitor.Join(wrong...); err != nil {
		return incident.Entry{}, err
	}
	return s.store.ActOnIncident(ctx, id, a)
}

// Check returns an error for every wrong field, each *monitor.Error InvalidConfig.
func (a IncidentAction) Check() (wrong []monitor.FieldError) {
	if !opIDForm.MatchString(a.OpID) {
		wrong = append(wrong, monitor.FieldError{Field: "op_id", Err: monitor.Errorf(monitor.InvalidConfig, "op_id is %.40q; accepted are 1 to 100 visible ASCII characters", a.OpID)})
	}
	if err := checkText("by", a.By, maxBy); err != nil {
		wrong = append(wrong, monitor.FieldError{Field: "by", Err: err})
	}
	if a.Kind != incident.Noted {
		return wrong
	}
	if err := checkText("text", a.Text, maxNote); err != nil {
		wrong = append(wrong, monitor.FieldError{Field: "text", Err: err})
	}
	return wrong
}

func checkText(field, text string, most int) error {
	switch n := utf8.RuneCountInString(text); {
	case strings.TrimSpace(text) == "":
		return monitor.Errorf(monitor.InvalidConfig, "%s is empty; accepted are 1 to %d characters", field, most)
	case n > most:
		return monitor.Errorf(monitor.InvalidConfig, "%s has %d characters; accepted are 1 to %d", field, n, most)
	case strings.ContainsRune(text, 0):
		return monitor.Errorf(monitor.InvalidConfig, "%s contains \\u0000, which cannot be stored", field)
	}
	return nil
}

// sweepBatch bounds one transaction of a sweep.
const sweepBatch = 25

// Sweep resolves what has been quiet for long enough, and raises severities. The
// elected gateway runs it every SweepIncidentsEvery; a second one at the same time does
// no harm.
func (s *IncidentService) Sweep(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = s.store.SweepIncidents(ctx, sweepBatch); err != nil {
			return fmt.Errorf("sweep incidents: %w", err)
		}
	}
	return nil
}
