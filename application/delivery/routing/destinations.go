package routing

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// KeyRotation bounds the time in which the former signing key of a webhook signs, too
// (section 19.1).
const KeyRotation = 24 * time.Hour

// Secrets of a webhook that a rotation concerns.
const (
	signingKey         = "signing_key"
	previousSigningKey = "previous_signing_key"
)

// DestinationChange has the fields of a destination to create or to change. A nil field is
// left out.
type DestinationChange struct {
	Name     *string
	Kind     *notify.Kind
	Language *notify.Language
	Config   map[string]*string // by name; nil removes
	Secrets  map[string]*string // by name; nil removes
	Fallback *string            // an ID; empty: none
	Enabled  *bool
	Owner    *string // empty: none

	Unreadable []error // *monitor.Error of fields that could not be decoded
}

// apply changes a destination.
func (c DestinationChange) apply(d *notify.Destination, now time.Time) {
	set(&d.Name, c.Name)
	set(&d.Kind, c.Kind)
	set(&d.Language, c.Language)
	set(&d.Fallback, c.Fallback)
	set(&d.Enabled, c.Enabled)
	set(&d.Owner, c.Owner)
	if d.Enabled {
		d.DisabledReason = ""
	}
	before := d.Secrets
	d.Config, d.Secrets = merge(d.Config, c.Config), merge(before, c.Secrets)
	if d.Kind == notify.Webhook {
		rotate(d, before, now)
	}
}

// rotate lets the former signing key of a webhook sign for a while.
func rotate(d *notify.Destination, before map[string]string, now time.Time) {
	former := before[signingKey]
	if former != "" && d.Secrets[signingKey] != "" && d.Secrets[signingKey] != former && d.Secrets[previousSigningKey] == before[previousSigningKey] {
		d.Secrets[previousSigningKey] = former
	}
	switch previous := d.Secrets[previousSigningKey]; {
	case previous == "":
		d.PreviousUntil = time.Time{}
	case previous != before[previousSigningKey]:
		d.PreviousUntil = now.Add(KeyRotation)
	}
}

func set[T any](field, to *T) {
	if to != nil {
		*field = *to
	}
}

// merge returns fields with a change to them.
func merge(fields map[string]string, change map[string]*string) map[string]string {
	merged := maps.Clone(fields)
	if merged == nil {
		merged = map[string]string{}
	}
	for name, to := range change {
		if to == nil {
			delete(merged, name)
			continue
		}
		merged[name] = *to
	}
	return merged
}

// differences names the fields in which two versions of a destination differ, never their
// values.
func differences(a, b notify.Destination) []string {
	names := []string{}
	add := func(name string, differs bool) {
		if differs {
			names = append(names, name)
		}
	}
	add("name", a.Name != b.Name)
	add("kind", a.Kind != b.Kind)
	add("language", a.Language != b.Language)
	for _, part := range []struct {
		name string
		a, b map[string]string
	}{{"config", a.Config, b.Config}, {"secrets", a.Secrets, b.Secrets}} {
		keys := slices.Concat(slices.Collect(maps.Keys(part.a)), slices.Collect(maps.Keys(part.b)))
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			before, had := part.a[key]
			after, has := part.b[key]
			add(part.name+"."+key, had != has || before != after)
		}
	}
	add("fallback", a.Fallback != b.Fallback)
	add("enabled", a.Enabled != b.Enabled)
	add("owner", a.Owner != b.Owner)
	return names
}

// DestinationService answers questions about destinations, and changes them.
type DestinationService struct {
	DestinationReader

	store  DestinationWriter
	routes RouteReader
	test   TestSender
	newID  func() string
	now    func() time.Time
}

// List returns all destinations, by name.
func (s *DestinationService) List(ctx context.Context) ([]DestinationRecord, error) {
	all, err := s.Destinations(ctx)
	if err != nil {
		return nil, err
	}
	traffic, err := s.Traffic(ctx)
	for n := range all {
		all[n].Traffic = traffic[all[n].ID]
	}
	return all, err
}

// Get returns one destination. Errors: *monitor.Error DestinationNotFound.
func (s *DestinationService) Get(ctx context.Context, id string) (DestinationRecord, error) {
	record, err := s.Destination(ctx, id)
	if err != nil {
		return DestinationRecord{}, err
	}
	return s.withTraffic(ctx, record)
}

func (s *DestinationService) withTraffic(ctx context.Context, r DestinationRecord) (DestinationRecord, error) {
	traffic, err := s.Traffic(ctx)
	r.Traffic = traffic[r.ID]
	return r, err
}

// Create creates a destination, to which no route leads. Errors: *monitor.Error
// NameTaken; InvalidConfig that names every wrong field.
func (s *DestinationService) Create(ctx context.Context, c DestinationChange) (DestinationRecord, error) {
	d := notify.Destination{ID: s.newID(), Language: notify.English, Enabled: true}
	c.apply(&d, s.now())
	if err := s.checkDestination(ctx, d, d.Check(), c.Unreadable); err != nil {
		return DestinationRecord{}, err
	}
	return s.store.CreateDestination(ctx, d)
}

// checkDestination adds to checked what only the service can check, and returns one error
// that names every wrong field, or nil.
func (s *DestinationService) checkDestination(ctx context.Context, d notify.Destination, checked, unreadable []error) error {
	if d.Fallback != "" && d.Fallback != d.ID { // Check refuses itself
		fallback, err := s.Destination(ctx, d.Fallback)
		if hasCode(err, DestinationNotFound) {
			checked = append(checked, monitor.FieldErrorf("fallback", "is %.60q, but no destination has that id", d.Fallback))
		} else if err != nil {
			return err
		} else if fallback.GetsEvents() {
			checked = append(checked, monitor.FieldErrorf("fallback", "is the %s %.60q, which gets no messages", fallback.Kind, fallback.Name))
		}
	}
	return joinProblems(unreadable, checked)
}

// Change changes a destination, and names the fields that differ. A change that changes nothing
// stores nothing, and neither does a dry run. Errors: *monitor.Error DestinationNotFound, NameTaken;
// InvalidConfig that names every wrong field.
func (s *DestinationService) Change(ctx context.Context, id string, c DestinationChange, dryRun bool) (_ DestinationRecord, changed []string, _ error) {
	before, err := s.Destination(ctx, id)
	if err != nil {
		return DestinationRecord{}, nil, err
	}
	draft := before
	c.apply(&draft.Destination, s.now())
	changed = differences(before.Destination, draft.Destination)
	secretsLost := before.SecretsError != ""
	if err := s.checkDestination(ctx, draft.Destination, c.check(before.Destination, draft.Destination, secretsLost), c.Unreadable); err != nil {
		return DestinationRecord{}, nil, err
	}
	if dryRun {
		if err := s.checkNameIsFree(ctx, draft.Destination); err != nil {
			return DestinationRecord{}, nil, err
		}
	}
	if dryRun || len(changed) == 0 {
		draft, err = s.withTraffic(ctx, draft)
		return draft, changed, err
	}
	after, err := s.store.ChangeDestination(ctx, id, func(d *notify.Destination) error {
		before := *d
		c.apply(d, s.now())
		changed = differences(before, *d)
		return joinProblems(c.Unreadable, c.check(before, *d, secretsLost))
	})
	if err != nil {
		return DestinationRecord{}, nil, err
	}
	after, err = s.withTraffic(ctx, after)
	return after, changed, err
}

// check returns what is wrong with a destination after the change. secretsLost says that its
// secrets could not be decrypted. They may stay so while nothing depends on them: a
// destination must be renamed and disabled without them.
func (c DestinationChange) check(before, after notify.Destination, secretsLost bool) []error {
	moved := after.MovedFrom(before)
	if secretsLost && len(c.Secrets) == 0 && moved == "" {
		return after.CheckWithoutSecrets()
	}
	checked := after.Check()
	if moved == "" {
		return checked
	}
	// Otherwise, whoever may change a destination could have its secrets sent to a server of theirs.
	for _, name := range slices.Sorted(maps.Keys(after.Secrets)) {
		if c.Secrets[name] == nil {
			checked = append(checked, monitor.FieldErrorf("secrets."+name, "must be given again: %s changes where it is sent", moved))
		}
	}
	return checked
}

// checkNameIsFree refuses what the store would refuse.
func (s *DestinationService) checkNameIsFree(ctx context.Context, d notify.Destination) error {
	all, err := s.Destinations(ctx)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Name == d.Name && other.ID != d.ID {
			return monitor.NameTakenf("another destination has the name %q", d.Name)
		}
	}
	return nil
}

// Delete deletes a destination and its deliveries. emptied names the routes that
// have no destination any more. Errors: *monitor.Error DestinationNotFound.
func (s *DestinationService) Delete(ctx context.Context, id string) (emptied []string, err error) {
	if _, err := s.Destination(ctx, id); hasCode(err, DestinationNotFound) {
		return nil, err // another error: one that cannot be read can be deleted
	}
	routes, err := s.routes.Routes(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range routes {
		if len(r.Destinations) == 1 && r.Destinations[0] == id {
			emptied = append(emptied, r.Name)
		}
	}
	return emptied, s.store.DeleteDestination(ctx, id)
}

// Test sends an example to a destination and returns what came of it. Errors:
// *monitor.Error DestinationNotFound; InvalidConfig for another example, and for secrets
// that cannot be decrypted.
func (s *DestinationService) Test(ctx context.Context, id string, example notify.MessageKind) (message.Result, error) {
	if example != notify.Opened && example != notify.Recovered {
		return message.Result{}, refusef("example is %.40q; accepted are opened, recovered", example)
	}
	d, err := s.Destination(ctx, id)
	if err != nil {
		return message.Result{}, err
	}
	if d.SecretsError != "" {
		return message.Result{}, refusef("the secrets of the destination cannot be decrypted: %s; enter them again", d.SecretsError)
	}
	return s.test.SendExample(ctx, d.Destination, example), nil
}

// State says in a word how a destination is: disabled, failing, working, or unused. One that
// has asked for a pause is failing until that is over.
func (r DestinationRecord) State() string {
	switch {
	case !r.Active():
		return "disabled"
	case !r.FailingSince.IsZero(), !r.CircuitOpenUntil.IsZero(), r.SecretsError != "":
		return "failing"
	case !r.DeliveredAt.IsZero():
		return "working"
	}
	return "unused"
}
