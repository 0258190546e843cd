package channels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of previews.
const (
	PreviewTimeout = 45 * time.Second
	maxPreviews    = 2 // at a time in one gateway
)

// Change has the fields of a channel to register or to change. A nil field is left out.
type Change struct {
	CallbackURL *string // empty: routes alone tell somebody
	Config      func(*monitor.Config)
	Metadata    json.RawMessage    // a JSON object, which replaces the old one; empty: left out
	Labels      map[string]*string // those to set; a nil value removes one, the others stay
	Jar         *string            // the name of a jar of cookies; empty: none
	Owner       *string            // the file that keeps it; empty: none

	// File says that the change is all that this file has of the channel, as in a change of a monitor. nil: no file makes the change.
	File *monitor.Owner

	Unreadable []error // *monitor.Error of fields that could not be decoded
}

// apply returns a template with the change, and an error for each wrong field.
func (ch Change) apply(t channel.Template) (channel.Template, []error) {
	var refused []error
	if ch.File != nil {
		t = channel.Template{CallbackURL: t.CallbackURL, Config: monitor.DefaultConfig(), Metadata: json.RawMessage(`{}`)}
	}
	if ch.Owner != nil {
		refused = append(refused, monitor.CheckLine("owner", *ch.Owner, 0, monitor.MaxOwner))
	}
	switch {
	case ch.CallbackURL == nil:
	case *ch.CallbackURL == "":
		t.CallbackURL = ""
	default:
		callback, err := monitor.ParseCallbackURL(*ch.CallbackURL)
		t.CallbackURL, refused = callback, append(refused, err)
	}
	if ch.Config != nil {
		ch.Config(&t.Config)
	}
	if len(ch.Metadata) > 0 {
		t.Metadata = ch.Metadata
	}
	t.Labels = t.Labels.With(ch.Labels)
	if ch.Jar != nil {
		t.Jar = *ch.Jar
	}
	return t, append(refused, t.Check()...)
}

// owner returns the owner of a channel that has one, with the change.
func (ch Change) owner(before string) string {
	switch {
	case ch.File != nil:
		return ch.File.Name
	case ch.Owner != nil:
		return *ch.Owner
	}
	return before
}

// Preview tells about a channel that was not registered.
type Preview struct {
	Channel  channel.Channel // with its streams; without Address: that is wrong, and nothing was asked
	Failure  *channel.Failure
	Problems []error // *monitor.Error: why Register would refuse it now
}

// Service answers callers. It may be used concurrently.
type Service struct {
	store     Store
	discovery *Discovery
	registrar Registrar
	newID     func() string
	previews  wait.Slots
}

// NewService makes a Service. newID makes UUIDv7s.
func NewService(store Store, discovery *Discovery, newID func() string) *Service {
	return &Service{store, discovery, discovery.cfg.Registrar, newID, make(wait.Slots, maxPreviews)}
}

func (s *Service) now() time.Time { return s.discovery.cfg.Now().Truncate(time.Millisecond) }

// read returns the channel of a request, not stored yet, and an error for each wrong field.
func (s *Service) read(ctx context.Context, address string, ch Change) (c channel.Channel, wrong []error, err error) {
	at, addressErr := channel.ParseAddress(address)
	template, refused := ch.apply(channel.Template{Config: monitor.DefaultConfig(), Metadata: json.RawMessage(`{}`)})
	wrong = monitor.NamedOnce(ch.Unreadable, append([]error{addressErr}, refused...))
	if ch.CallbackURL != nil && monitor.CallbackKnown(template.CallbackURL, wrong) {
		policyErr := s.registrar.CheckCallback(ctx, template)
		if _, is := errors.AsType[*monitor.Error](policyErr); !is && policyErr != nil {
			return c, nil, fmt.Errorf("check the callback of a channel: %w", policyErr)
		}
		if policyErr != nil {
			wrong = append(wrong, policyErr)
		}
	}
	now := s.now()
	return channel.Channel{ID: s.newID(), Address: at, SourceID: at.SourceID(), Template: template, Owner: ch.owner(""), CreatedAt: now, Reading: channel.Reading{NextAt: now}}, wrong, nil
}

// Register stores a channel. Its page is read within seconds. Errors: *monitor.Error InvalidURL or InvalidConfig, which
// names every wrong field; those of Store.CreateChannel.
func (s *Service) Register(ctx context.Context, address string, ch Change) (channel.Channel, error) {
	return s.registerBy(ctx, Registration{address, ch}, s.store.CreateChannel)
}

// Registration asks for a channel.
type Registration struct {
	Address string
	Change  Change
}

// BatchResult is the channel of a Registration, or why it is refused.
type BatchResult struct {
	Channel channel.Channel // if Err is not nil, at most the ID of the one that Registered speaks of
	Err     error

	// Registered says that the channel was registered already, and Changed what the registration has changed of it.
	Registered bool
	Changed    []monitor.Difference
}

// RegisterBatch registers channels, in order: one that is refused does not stop those after it. With dryRun nothing is stored, and
// the results say what would happen; the limit of channels then holds for each of them alone. With update, a channel that is
// registered already is changed as by Change. Errors: the store cannot be read.
func (s *Service) RegisterBatch(ctx context.Context, all []Registration, dryRun, update bool) ([]BatchResult, error) {
	results := make([]BatchResult, len(all))
	store := s.store.CreateChannel
	if dryRun {
		before := map[channel.Address]bool{}
		store = func(ctx context.Context, c channel.Channel) error {
			if before[c.Address] {
				return monitor.OfField("channel", monitor.Errorf(Duplicate, "%s comes before in the batch", c.Address))
			}
			before[c.Address] = true
			return s.store.CheckChannel(ctx, c)
		}
	}
	for n, r := range all {
		id := ""
		if at, err := channel.ParseAddress(r.Address); update && err == nil {
			if id, err = s.store.SameChannel(ctx, channel.Channel{Address: at, SourceID: at.SourceID(), Owner: r.Change.owner("")}); err != nil {
				return nil, err
			}
		}
		if id == "" {
			results[n].Channel, results[n].Err = s.registerBy(ctx, r, store)
			continue
		}
		results[n] = s.update(ctx, id, r.Change, dryRun)
	}
	return results, nil
}

// update changes a channel unless it is as the change has it, or with dryRun.
func (s *Service) update(ctx context.Context, id string, ch Change, dryRun bool) BatchResult {
	c, err := s.store.Channel(ctx, id)
	if err != nil {
		return BatchResult{Err: err}
	}
	template, refused := ch.apply(c.Template)
	changed := c.Template.Differences(template)
	if owner := ch.owner(c.Owner); owner != c.Owner {
		changed = append(changed, monitor.DifferenceOf("owner", c.Owner, owner))
	}
	switch err := monitor.Join(monitor.NamedOnce(ch.Unreadable, refused)...); {
	case !c.StoppedAt.IsZero():
		return BatchResult{Err: StoppedAlready(id)}
	case err != nil:
		return BatchResult{Err: err}
	case ch.File != nil && ch.File.Check(c.Owner, "") != nil:
		return BatchResult{Err: ch.File.Check(c.Owner, "channel "+id)}
	case len(changed) == 0:
		return BatchResult{Channel: c, Registered: true}
	case dryRun:
		err = s.checkCallback(ctx, c.Template, template, refused)
		return BatchResult{c, err, true, changed}
	}
	c, err = s.Change(ctx, id, ch)
	c.ID = id
	return BatchResult{c, err, true, changed}
}

// checkCallback refuses the callback of a changed template. Errors: *monitor.Error; it cannot be checked.
func (s *Service) checkCallback(ctx context.Context, before, after channel.Template, refused []error) error {
	if !monitor.CallbackKnown(after.CallbackURL, refused) || after.CallbackURL == before.CallbackURL {
		return nil
	}
	return s.registrar.CheckCallback(ctx, after)
}

func (s *Service) registerBy(ctx context.Context, r Registration, store func(context.Context, channel.Channel) error) (channel.Channel, error) {
	ch := r.Change
	c, wrong, err := s.read(ctx, r.Address, ch)
	if err != nil {
		return channel.Channel{}, err
	}
	if ch.CallbackURL == nil {
		_, missing := monitor.ParseCallbackURL("")
		wrong = monitor.NamedOnce(wrong, []error{missing})
	}
	if err := monitor.Join(wrong...); err != nil {
		return channel.Channel{}, err
	}
	return c, store(ctx, c)
}

// Preview checks a registration without making it, and reads the page of the channel once. It stores nothing. A
// missing callback is no problem. Errors: the checks fail.
func (s *Service) Preview(ctx context.Context, address string, ch Change) (Preview, error) {
	c, wrong, err := s.read(ctx, address, ch)
	p := Preview{Channel: c, Problems: wrong}
	if err != nil || c.Address == "" {
		return p, err
	}
	if err := s.store.CheckChannel(ctx, c); err != nil {
		if _, is := errors.AsType[*monitor.Error](err); !is {
			return p, err
		}
		p.Problems = append(p.Problems, err)
	}
	ctx, cancel := context.WithTimeout(ctx, PreviewTimeout)
	defer cancel()
	release, err := s.previews.Take(ctx)
	if err != nil {
		p.Failure = &channel.Failure{Kind: channel.Network, Detail: "other previews are under way; try again"}
		return p, nil
	}
	defer release()
	l, err := s.discovery.list(ctx, c, func(l channel.Listing) bool { return p.Channel.WantsOpinion(c.CreatedAt, l) })
	failure, failed := errors.AsType[*channel.Failure](err)
	switch {
	case failed:
		p.Failure = failure
	case err != nil:
		p.Failure = &channel.Failure{Kind: channel.RateLimited, Detail: err.Error()}
	default:
		p.Channel.Read(c.CreatedAt, l, 0)
	}
	return p, nil
}

// Get reads a channel with its streams. Errors: *monitor.Error NotFound.
func (s *Service) Get(ctx context.Context, id string) (channel.Channel, error) {
	c, err := s.store.Channel(ctx, id)
	if err == nil {
		c.Decide(s.now()) // monitors may have ended since the last look
	}
	return c, err
}

// Events reads the newest events of a channel, as webhooks get them. Errors: *monitor.Error NotFound, InvalidConfig.
func (s *Service) Events(ctx context.Context, id string, limit int) ([]json.RawMessage, error) {
	if err := monitor.ValidLimit(limit, MaxPage); err != nil {
		return nil, err
	}
	if _, err := s.store.Channel(ctx, id); err != nil {
		return nil, err
	}
	return s.store.ChannelEvents(ctx, id, limit)
}

// List reads a page of the channels, the newest first, and how many there are. Errors: *monitor.Error InvalidConfig.
func (s *Service) List(ctx context.Context, stopped bool, limit, offset int) ([]Listed, int, error) {
	if err := monitor.ValidLimit(limit, MaxPage); err != nil {
		return nil, 0, err
	}
	if offset < 0 {
		return nil, 0, monitor.Errorf(monitor.InvalidConfig, "offset is %d; accepted is 0 or more", offset)
	}
	return s.store.Channels(ctx, stopped, limit, offset)
}

// Change changes the template of a channel. Streams that are registered already keep their values. Errors: *monitor.Error NotFound,
// Stopped, InvalidURL, InvalidConfig.
func (s *Service) Change(ctx context.Context, id string, ch Change) (channel.Channel, error) {
	if ch.CallbackURL != nil {
		before, err := s.store.Channel(ctx, id)
		if err != nil {
			return before, err
		}
		template, refused := ch.apply(before.Template)
		if err := s.checkCallback(ctx, before.Template, template, refused); err != nil {
			return channel.Channel{}, err
		}
	}
	return s.store.ChangeChannel(ctx, id, func(c *channel.Channel) error {
		if !c.StoppedAt.IsZero() {
			return StoppedAlready(id)
		}
		if ch.File != nil {
			if err := ch.File.Check(c.Owner, "channel "+id); err != nil {
				return err
			}
		}
		template, refused := ch.apply(c.Template)
		if err := monitor.Join(monitor.NamedOnce(ch.Unreadable, refused)...); err != nil {
			return err
		}
		c.Template, c.Owner, c.Reading.NextAt = template, ch.owner(c.Owner), s.now() // a jar may make streams for members wanted
		return nil
	})
}

// OnRunning says what becomes of the watches of a channel that run when it is stopped.
type OnRunning string

// The values of OnRunning; empty: the stop is refused if there are any.
const (
	KeepRunning OnRunning = "keep"
	StopRunning OnRunning = "stop"
)

// Release stops a channel as Stop does, and then takes its owner away: the file may register it anew. A repetition does what is left.
// Errors: those of Stop.
func (s *Service) Release(ctx context.Context, id string, running OnRunning) (channel.Channel, error) {
	c, err := s.Stop(ctx, id, running)
	if err != nil {
		return c, err
	}
	return s.store.ChangeChannel(context.WithoutCancel(ctx), id, func(c *channel.Channel) error {
		c.Owner = ""
		return nil
	})
}

// Stop ends a channel and its reservations. A repetition ends what is left. Errors: *monitor.Error NotFound; Running, if there
// are watches that run and running does not say what becomes of them.
func (s *Service) Stop(ctx context.Context, id string, running OnRunning) (channel.Channel, error) {
	count := 0
	c, err := s.Get(ctx, id)
	for _, f := range c.Streams {
		if f.Standing == channel.Watched && !f.Monitor.Reserved {
			count++
		}
	}
	switch {
	case err != nil:
		return c, err
	case running == "" && count > 0 && c.StoppedAt.IsZero():
		return c, monitor.Errorf(Running, "%d streams of the channel are being watched; say with running=keep or running=stop what becomes of them", count)
	}
	ctx = context.WithoutCancel(ctx) // a channel that is stopped leaves no reservations
	c, err = s.store.ChangeChannel(ctx, id, func(c *channel.Channel) error {
		if c.StoppedAt.IsZero() {
			c.StoppedAt = s.now()
		}
		return nil
	})
	if err != nil {
		return c, err
	}
	var failures []error
	c.Decide(s.now())
	for _, f := range c.Streams {
		if f.Standing == channel.Watched && (f.Monitor.Reserved || running == StopRunning) {
			failures = append(failures, s.registrar.StopStream(ctx, c, f.Monitor.ID))
		}
	}
	if err := errors.Join(failures...); err != nil {
		return c, fmt.Errorf("stop the monitors of channel %s: %w", id, err)
	}
	return s.Get(ctx, id)
}
