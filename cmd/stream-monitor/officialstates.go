package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
	_ "time/tzdata" // officialstate.Zone, on a machine without time zones

	"github.com/stream-monitor/stream-monitor/adapters/stream/proxies"
	"github.com/stream-monitor/stream-monitor/adapters/youtubeapi"
	"github.com/stream-monitor/stream-monitor/application/officialstates"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// addOfficialStates adds the task of the leader that asks the YouTube Data API, if there is a key.
func (a *assembly) addOfficialStates() error {
	if a.settings.YouTube.APIKey == "" {
		return nil
	}
	zone, err := time.LoadLocation(officialstate.Zone)
	if err != nil {
		return fmt.Errorf("the time zone of the YouTube Data API: %w", err)
	}
	api := newYouTubeAPI(a.resolving.proxies, a.settings.YouTube.APIKey)
	service := officialstates.NewService(a.store, api, officialstates.Config{Key: api.Fingerprint(), Zone: zone, Now: a.clock, Log: a.log})
	a.tasks = append(a.tasks, supervisor.LeaderTask{Name: "official states", Every: officialstate.Tick, Run: service.Run})
	return nil
}

// newYouTubeAPI makes the client of the API. It leaves by the proxies for YouTube, of several by the first (decision O8).
func newYouTubeAPI(list *proxies.List, key string) *youtubeapi.Client {
	return youtubeapi.New(&http.Client{Transport: &http.Transport{Proxy: list.Proxy, IdleConnTimeout: time.Minute}}, key)
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
