package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
	_ "time/tzdata" // officialstate.Zone, on a machine without time zones

	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/adapters/stream/proxies"
	"github.com/stream-monitor/stream-monitor/adapters/youtubeapi"
	"github.com/stream-monitor/stream-monitor/application/officialstates"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// newOfficialStates makes the task of the leader that asks the YouTube Data API, and lets the listers of channels
// use the API; without a key, none.
func (a *assembly) newOfficialStates() ([]supervisor.LeaderTask, error) {
	if a.settings.YouTube.APIKey == "" {
		return nil, nil
	}
	zone, err := time.LoadLocation(officialstate.Zone)
	if err != nil {
		return nil, fmt.Errorf("the time zone of the YouTube Data API: %w", err)
	}
	api := newYouTubeAPI(a.resolving.proxies, a.settings.YouTube.APIKey)
	service := officialstates.NewService(a.store, api, officialstates.Config{Key: api.Fingerprint(), Zone: zone, Now: a.clock, Log: a.log})
	a.resolving.uploads = service.Uploads(fallback.NewLister(youtubeapi.Source, api, nil, a.log.With("source", monitor.YouTube)))
	return []supervisor.LeaderTask{{Name: "official states", Every: officialstate.Tick, Run: service.Run}}, nil
}

// newYouTubeAPI makes the client of the API. It leaves by the proxies for YouTube, of several by the first, to whose
// address the key may be restricted (decision O8).
func newYouTubeAPI(list *proxies.List, key string) *youtubeapi.Client {
	first := func(r *http.Request) (*url.URL, error) { return list.Proxy(r.WithContext(context.Background())) }
	return youtubeapi.New(&http.Client{Transport: &http.Transport{Proxy: first, IdleConnTimeout: time.Minute}}, key)
}

// youTubeAPI returns the use of the API; nil: no key is set, or the database does not tell.
func (g *gatewayServer) youTubeAPI(ctx context.Context) *officialstate.Status {
	zone, err := time.LoadLocation(officialstate.Zone)
	if g.settings.YouTube.APIKey == "" || err != nil {
		return nil
	}
	account, err := g.store.OfficialAccount(ctx)
	if err != nil {
		return nil
	}
	status := account.Status(time.Now(), zone)
	return &status
}
