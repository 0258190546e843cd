package channels

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	perCall   = 100              // places of one call
	callAhead = 30 * time.Second // by which a place may be asked about before it is due, so that calls are full
	apiRest   = time.Minute      // after a failure
)

// apiOf returns what is asked about the place of a channel with others; nil: its listers alone are asked.
func (d *Discovery) apiOf(c channel.Channel, now time.Time) BroadcastsAPI {
	source := c.Address.Source()
	if c.Address.Place() == "" || now.Before(d.restUntil[source]) {
		return nil
	}
	return d.cfg.APIs[source]
}

// askAPIs asks about the places among what is due, and about those that soon will be, all of a source at once. It returns what the listers
// are asked about: the rest, at most maxLooks. The others are stored. Errors: the store fails.
func (d *Discovery) askAPIs(ctx context.Context, now time.Time, due []channel.Channel) (looks []channel.Channel, err error) {
	for source, api := range d.cfg.APIs {
		var places []channel.Channel
		due = slices.DeleteFunc(due, func(c channel.Channel) bool {
			is := c.Address.Source() == source && d.apiOf(c, now) != nil
			if is {
				places = append(places, c)
			}
			return is
		})
		if len(places) == 0 {
			continue
		}
		wanted, err := d.askAPI(ctx, source, api, now, places)
		if err != nil {
			return nil, err
		}
		due = append(due, wanted...)
	}
	for len(due) > maxLooks { // the next run looks at them
		last := due[len(due)-1]
		last.Reading.NextAt, due = now, due[:len(due)-1]
		if err := d.save(ctx, last, nil); err != nil {
			return nil, err
		}
	}
	return due, nil
}

// askAPI asks about places of a source. It returns those that the listers are asked about.
func (d *Discovery) askAPI(ctx context.Context, source monitor.SourceName, api BroadcastsAPI, now time.Time, places []channel.Channel) (looks []channel.Channel, err error) {
	due := len(places)
	more, err := d.store.ClaimChannels(ctx, source.Row().Prefix, now.Add(callAhead), now.Add(claimTerm), perCall-due)
	if err != nil {
		return nil, fmt.Errorf("claim channels of %s: %w", source, err)
	}
	places = append(places, more...)
	limited, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var urls []monitor.StreamURL
	for _, c := range places {
		urls = append(urls, c.Address.Place())
	}
	live, failure := api.Broadcasts(limited, urls)
	_, failed := d.restUntil[source]
	delete(d.restUntil, source)
	if failure != nil {
		d.restUntil[source] = now.Add(apiRest)
		looks, places = places[:due], places[due:]
	}
	switch {
	case failure == nil && failed:
		d.log.Info("the official API of a source tells again which channels are live", "source", source)
	case failure != nil && !failed:
		d.log.Warn("the official API of a source does not tell which channels are live, they are read one by one until it does", "source", source, "error", failure.Error())
	}
	for _, c := range places {
		switch {
		case failure != nil:
			c.Reading.NextAt = now.Add(callAhead)
		case c.WantsLook(now, live[c.Address.Place()]):
			looks = append(looks, c)
			continue
		default:
			c.Unchanged(now)
		}
		if err := d.save(ctx, c, nil); err != nil {
			return nil, err
		}
	}
	return looks, nil
}
