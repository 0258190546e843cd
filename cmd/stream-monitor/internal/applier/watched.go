package applier

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// watchedList is one of the two lists of registrations. It has the name that the API gives it, the field that identifies an
// element, and the noun of messages.
type watchedList struct{ name, field, noun string }

var (
	listOfChannels = watchedList{"channels", "channel", "channel"}
	listOfMonitors = watchedList{"monitors", "stream_url", "monitor"}
	watchedLists   = []watchedList{listOfChannels, listOfMonitors}
)

const (
	batchSize = 100 // the most registrations of a request
	pageSize  = 200 // the most elements of a page of a list
)

// Registration is a monitor or a channel of a file.
type Registration struct {
	URL  string // the canonical URL of the stream, or the address of the channel
	Body json.RawMessage
}

// readRegistrations reads the elements of a list. It checks their URL alone; the gateway judges the rest.
func readRegistrations(p *Problems, list watchedList, given []json.RawMessage, lookup func(string) (string, bool)) (all []Registration) {
	seen := map[string]bool{}
	for n, raw := range given {
		name := nameOf(list.noun, list.field, n, raw)
		var fields map[string]any
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if decoder.Decode(&fields) != nil || fields == nil {
			*p = append(*p, name+": accepted are fields with values")
			continue
		}
		expandFields(p, name, fields, lookup)
		canonical, err := urlOf(list, fields[list.field])
		if err != nil {
			*p = append(*p, name+": "+messageOf(err))
			continue
		}
		if seen[canonical] {
			*p = append(*p, fmt.Sprintf("%s %q is there twice", list.noun, canonical))
		}
		seen[canonical] = true
		body, err := json.Marshal(fields)
		if err != nil {
			*p = append(*p, name+": "+err.Error())
		}
		all = append(all, Registration{canonical, body})
	}
	return all
}

// urlOf returns the canonical URL of a stream, or the address of a channel.
func urlOf(list watchedList, given any) (string, error) {
	text, _ := given.(string)
	if list == listOfChannels {
		address, err := channel.ParseAddress(text)
		return string(address), err
	}
	stream, err := monitor.ParseStreamURL(text)
	return string(stream), err
}

// expandFields replaces the variables in the fields of a registration that may be secret, and writes numbers of labels as texts.
func expandFields(p *Problems, name string, fields map[string]any, lookup func(string) (string, bool)) {
	expandIn := func(object map[string]any, prefix string, names ...string) {
		for _, field := range names {
			if given, is := object[field].(string); is {
				object[field] = expand(p, name+": "+prefix+field, given, lookup)
			}
		}
	}
	expandIn(fields, "", "stream_url", "callback_url")
	config, _ := fields["config"].(map[string]any)
	expandIn(config, "config.", "token_url")
	headers, _ := config["http_headers"].(map[string]any)
	expandIn(headers, "config.http_headers.", slices.Sorted(maps.Keys(headers))...)
	labels, _ := fields["labels"].(map[string]any)
	for label, value := range labels {
		switch value.(type) {
		case json.Number, bool:
			labels[label] = fmt.Sprint(value)
		}
	}
}

// batch is registrations that are sent together. They are carried out with the first change of one of them.
type batch struct {
	plan    *plan
	list    watchedList
	all     []Registration
	results []apiclient.BatchResult // nil: it has not been sent
}

// send sends the batch, or returns what it was answered.
func (b *batch) send(ctx context.Context, dryRun bool) ([]apiclient.BatchResult, error) {
	bodies := make([]json.RawMessage, len(b.all))
	for n, r := range b.all {
		bodies[n] = r.Body
	}
	query := url.Values{"owner": {b.plan.file.Owner}, "adopt": {fmt.Sprint(b.plan.adopt)}, "dry_run": {fmt.Sprint(dryRun)}}
	var answer struct{ Results []apiclient.BatchResult }
	err := b.plan.gateway.Call(ctx, http.MethodPost, "/api/v1/"+b.list.name+"/batch?"+query.Encode(), map[string]any{b.list.name: bodies}, &answer)
	if err == nil && len(answer.Results) != len(b.all) {
		err = fmt.Errorf("the gateway has answered %d of %d registrations", len(answer.Results), len(b.all))
	}
	return answer.Results, err
}

// do carries out registration n of the batch.
func (b *batch) do(n int) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		if b.results == nil {
			if b.results, err = b.send(ctx, false); err != nil {
				return err
			}
		}
		if refused := b.results[n].Error; refused != nil {
			return fmt.Errorf("the others of its batch are made: %w", refused)
		}
		return nil
	}
}

// compareWatched finds the changes of channels and monitors. Their routes come first, and what is stopped makes room.
func (p *plan) compareWatched(ctx context.Context) error {
	var batches []*batch
	var answers [][]apiclient.BatchResult // of a dry run, for each batch
	inFile := map[string]bool{}           // the IDs of what the file has
	for _, list := range watchedLists {
		for some := range slices.Chunk(p.file.Registrations[list.name], batchSize) {
			b := &batch{plan: p, list: list, all: some}
			results, err := b.send(ctx, true)
			if refused, is := errors.AsType[*monitor.Error](err); is {
				p.problems = append(p.problems, list.name+": "+refused.Message)
				continue
			}
			if err != nil {
				return err
			}
			batches, answers = append(batches, b), append(answers, results)
			for _, r := range results {
				inFile[idOf(r)] = true
			}
		}
	}
	for _, list := range watchedLists {
		p.pruneWatched(list, inFile)
	}
	for i, b := range batches {
		for n, r := range answers[i] {
			p.planRegistration(b, n, r)
		}
	}
	slices.Sort(p.problems)
	return nil
}

// idOf returns the ID of what the gateway has of a registration; empty: it is new, or has ended.
func idOf(r apiclient.BatchResult) string { return string(r.MonitorID) + r.ChannelID }

// planRegistration plans what a dry run says of a registration.
func (p *plan) planRegistration(b *batch, n int, r apiclient.BatchResult) {
	name := label(b.list.noun, b.all[n].URL, n)
	switch {
	case r.Error == nil && r.Changed == nil:
		p.changes = append(p.changes, change{sign: '+', name: name, do: b.do(n)})
	case r.Error == nil && len(*r.Changed) > 0:
		var differing []string
		for _, d := range *r.Changed {
			differing = append(differing, d.String())
		}
		p.changes = append(p.changes, change{sign: '~', name: name, differing: differing, do: b.do(n)})
	case r.Error == nil:
	case r.Error.Code == monitor.Ended, r.Error.Code == channels.Stopped:
		p.over = append(p.over, name)
	case r.Error.Code == monitor.NobodyTold && p.changesRoutes(), r.Error.Code == monitor.MaxMonitorsExceeded && p.stops() > 0: // what comes before may make it possible
		sign := byte('+')
		if idOf(r) != "" {
			sign = '~'
		}
		p.changes = append(p.changes, change{sign: sign, name: name, do: b.do(n)})
	default:
		p.problems = append(p.problems, fmt.Sprintf("%s: %s", name, r.Error.Message))
	}
}

// changesRoutes reports whether the plan changes who is told.
func (p *plan) changesRoutes() bool {
	return slices.ContainsFunc(p.changes, func(c change) bool { return c.routes })
}

// stops counts the changes that end a watch.
func (p *plan) stops() (count int) {
	for _, c := range p.changes {
		if c.stops {
			count++
		}
	}
	return count
}

// pruneWatched stops what the file has kept and has no more: whose ID is not in inFile. The gateway knows a channel by other addresses,
// too. It loses its owner: what the file gets back later is registered anew.
func (p *plan) pruneWatched(list watchedList, inFile map[string]bool) {
	for _, stored := range slices.Backward(p.current.watched[list.name]) { // as they were registered
		if inFile[stored.ID] || p.isSpared(stored.Owner) {
			continue
		}
		path := "/api/v1/" + list.name + "/" + stored.ID + "?release=true"
		if list == listOfChannels {
			path += "&running=stop"
		}
		p.changes = append(p.changes, change{sign: '-', name: label(list.noun, stored.URL, 0), stops: true, do: func(ctx context.Context) error {
			return p.gateway.Call(ctx, http.MethodDelete, path, nil, nil)
		}})
	}
}

// watched is a monitor or a channel that the gateway has.
type watched struct {
	ID, URL, Owner string

	ChannelID   string // of a monitor that a channel has registered; empty: none
	CookieJar   *string
	Config      json.RawMessage
	Metadata    json.RawMessage
	Labels      map[string]string
	HasCallback bool
}

// readWatched reads the active monitors, or the channels that are not stopped. owner selects those of a file; empty: all.
func readWatched(ctx context.Context, gateway Gateway, list watchedList, owner string) (all []watched, err error) {
	query := url.Values{"limit": {fmt.Sprint(pageSize)}}
	if list == listOfMonitors {
		query.Set("active", "true")
		query.Set("config", "true")
		if owner != "" {
			query.Set("owner", owner)
		}
	}
	for {
		var page struct {
			Monitors, Channels []struct {
				MonitorID  string            `json:"monitor_id"`
				StreamURL  string            `json:"stream_url"`
				ChannelID  string            `json:"channel_id"`
				ChannelURL string            `json:"channel_url"`
				Owner      string            `json:"owner"`
				CookieJar  *string           `json:"cookie_jar"`
				Config     json.RawMessage   `json:"config"`
				Metadata   json.RawMessage   `json:"metadata"`
				Labels     map[string]string `json:"labels"`
				Callback   json.RawMessage   `json:"callback_url"` // null: it has none; missing: it has one
			}
			Next *string
		}
		if err := gateway.Call(ctx, http.MethodGet, "/api/v1/"+list.name+"?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for _, e := range append(page.Monitors, page.Channels...) {
			w := watched{
				ID: e.MonitorID, URL: e.StreamURL + e.ChannelURL, Owner: e.Owner, ChannelID: e.ChannelID, CookieJar: e.CookieJar,
				Config: e.Config, Metadata: e.Metadata, Labels: e.Labels, HasCallback: len(e.Callback) == 0,
			}
			if list == listOfChannels {
				w.ID, w.ChannelID = e.ChannelID, ""
			}
			all = append(all, w)
		}
		switch {
		case page.Next != nil:
			query.Set("after", *page.Next)
		case len(page.Channels) == pageSize:
			query.Set("offset", fmt.Sprint(len(all)))
		default:
			return all, nil
		}
	}
}
