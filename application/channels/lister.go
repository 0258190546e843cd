package channels

import (
	"context"
	"errors"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// listTimeout bounds one question to a Lister.
const listTimeout = 12 * time.Second

// errNoBudget says that no page may be read now.
var errNoBudget = errors.New("the budget of questions is used up")

// list asks the listers in their order until one answers. An answer may be empty or strange, or deny that there is a
// page of streams. If opinion says so, the next one is then asked, too. After a rate limit nobody else is asked from the same address.
// A place is asked about with the jar of its channel, because nothing tells the broadcast of one for members otherwise.
// Errors: errNoBudget; *channel.Failure, that of the first.
func (d *Discovery) list(ctx context.Context, c channel.Channel, opinion func(channel.Listing) bool) (channel.Listing, error) {
	if place, jar := c.Address.Place(), c.Template.Jar; d.cfg.Logins != nil && place != "" && jar != "" {
		var err error
		if ctx, err = d.cfg.Logins.With(ctx, jar, place); err != nil {
			return channel.Listing{}, &channel.Failure{Kind: channel.ToolFailed, Detail: "the cookie jar could not be read"}
		}
	}
	source := c.Address.Source()
	var first *channel.Listing
	var failed *channel.Failure
	for _, lister := range d.cfg.Listers[source] {
		l, err := d.askLister(ctx, lister, source, c.Address.ByID(c.SourceID)) // a handle may go to somebody else
		failure, isFailure := errors.AsType[*channel.Failure](err)
		switch {
		case errors.Is(err, errNoBudget):
			if first == nil && failed == nil {
				return channel.Listing{}, err
			}
			return outcome(first, failed)
		case err != nil && !isFailure:
			failure = &channel.Failure{Kind: channel.ToolFailed, Detail: err.Error()}
			fallthrough
		case err != nil:
			if failed == nil && first == nil {
				failed = failure
			}
			if failure.Kind == channel.RateLimited || failure.Kind == channel.NoStreams && !opinion(channel.Listing{}) {
				return outcome(first, failed)
			}
		case first != nil:
			return channel.Merge(*first, l), nil
		case !opinion(l):
			return l, nil
		default:
			first = &l
		}
	}
	return outcome(first, failed)
}

func outcome(first *channel.Listing, failed *channel.Failure) (channel.Listing, error) {
	switch {
	case first != nil:
		return *first, nil
	case failed != nil:
		return channel.Listing{}, failed
	}
	return channel.Listing{}, &channel.Failure{Kind: channel.ToolFailed, Detail: "this gateway has nothing that lists channels"}
}

func (d *Discovery) askLister(ctx context.Context, lister Lister, source monitor.SourceName, address channel.Address) (channel.Listing, error) {
	if d.cfg.Pages != nil {
		through, ok := d.cfg.Pages.Page(ctx, source)
		if !ok {
			return channel.Listing{}, errNoBudget
		}
		ctx = through
	}
	limited, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	l, err := lister.List(limited, string(address))
	failure, _ := errors.AsType[*channel.Failure](err)
	if d.cfg.Pages != nil && (err == nil || failure != nil) && ctx.Err() == nil { // what was given up says nothing
		d.cfg.Pages.Record(ctx, source, channel.StateOf(failure))
	}
	return l, err
}
