package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
	_ "time/tzdata" // officialstate.Zone, on a machine without time zones

	"github.com/stream-monitor/stream-monitor/adapters/stream/fallback"
	"github.com/stream-monitor/stream-monitor/adapters/stream/proxies"
	"github.com/stream-monitor/stream-monitor/adapters/twitchapi"
	"github.com/stream-monitor/stream-monitor/adapters/youtubeapi"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/application/officialstates"
	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// newTwitchAPITasks makes the tasks of the leader that ask Twitch about waiting streams and let it push starts, and what asks it
// about channels. They need the credentials of an application.
func (a *assembly) newTwitchAPITasks(pushed *pushes.Service) ([]supervisor.LeaderTask, map[monitor.SourceName]channels.BroadcastsAPI) {
	c := a.settings.Twitch
	if c.ClientID == "" {
		return nil, nil
	}
	api := newTwitchAPI(a.resolving.proxies, c)
	service := officialstates.NewService(a.store, api, officialstates.Config{
		Source: monitor.Twitch, Name: "Twitch API", Setting: "TWITCH_CLIENT_ID", Key: twitchapi.Fingerprint(c.ClientID, c.ClientSecret), PerCall: eventsub.PerCall, Now: a.clock, Log: a.log,
	})
	tasks := append(a.newPushTasks(pushed, api), supervisor.LeaderTask{Name: "official states of Twitch", Every: officialstate.Tick, Run: service.Run})
	return tasks, map[monitor.SourceName]channels.BroadcastsAPI{monitor.Twitch: service}
}

// newYouTubeAPITasks makes the tasks of the leader that ask APIs of YouTube: with a key the Data API, with an OAuth client the Live
// Streaming API. They share the units of a day. With a key the listers of channels use the Data API, too.
func (a *assembly) newYouTubeAPITasks() (tasks []supervisor.LeaderTask, err error) {
	c := a.settings.YouTube
	if c.APIKey == "" && c.OAuthClientID == "" {
		return nil, nil
	}
	zone, err := time.LoadLocation(officialstate.Zone)
	if err != nil {
		return nil, fmt.Errorf("the time zone of the YouTube Data API: %w", err)
	}
	project := youtubeapi.Fingerprint(cmp.Or(c.APIKey, c.OAuthClientID))
	if c.APIKey != "" {
		api := newYouTubeAPI(a.resolving.proxies, c.APIKey)
		service := officialstates.NewService(a.store, api, officialstates.Config{
			Source: monitor.YouTube, Name: "YouTube Data API", Setting: "YOUTUBE_API_KEY", Key: project, PerCall: officialstate.PerCall, Zone: zone, Now: a.clock, Log: a.log,
		})
		a.resolving.uploads = service.Uploads(fallback.NewLister(youtubeapi.Source, api, nil, a.log.With("source", monitor.YouTube)))
		tasks = append(tasks, supervisor.LeaderTask{Name: "official states", Every: officialstate.Tick, Run: service.Run})
	}
	if c.OAuthClientID != "" {
		owner := youtubeapi.NewOwner(apiClient(a.resolving.proxies), c.OAuthClientID, c.OAuthClientSecret)
		service := ingests.NewService(a.store, owner, ingests.Config{Key: project, Zone: zone, Now: a.clock, Log: a.log})
		tasks = append(tasks, supervisor.LeaderTask{Name: "ingest", Every: officialstate.Tick, Run: service.Run})
	}
	return tasks, nil
}

// apiClient makes a client for official APIs. It leaves by the first of the proxies, because a key may be restricted to one
// address (decision O8).
func apiClient(list *proxies.List) *http.Client {
	first := func(r *http.Request) (*url.URL, error) { return list.Proxy(r.WithContext(context.Background())) }
	return &http.Client{Transport: &http.Transport{Proxy: first, IdleConnTimeout: time.Minute}}
}

// newYouTubeAPI makes the client of the Data API.
func newYouTubeAPI(list *proxies.List, key string) *youtubeapi.Client {
	return youtubeapi.New(apiClient(list), key)
}

// newTwitchAPI makes the client of the API of Twitch.
func newTwitchAPI(list *proxies.List, c config.TwitchFlags) *twitchapi.Client {
	return twitchapi.New(apiClient(list), c.ClientID, c.ClientSecret)
}

// twitchAPI returns how the API of Twitch is asked; nil: there are no credentials, or the database does not tell.
func (g *gatewayServer) twitchAPI(ctx context.Context) *officialstate.Rounds {
	if g.settings.Twitch.ClientID == "" {
		return nil
	}
	account, err := g.store.OfficialAccount(ctx, monitor.Twitch)
	if err != nil {
		return nil
	}
	rounds := account.Rounds()
	return &rounds
}

// youTubeAPI returns the use of the APIs; nil: neither a key nor an OAuth client is set, or the database does not tell.
func (g *gatewayServer) youTubeAPI(ctx context.Context) *officialstate.Status {
	zone, err := time.LoadLocation(officialstate.Zone)
	if g.settings.YouTube.APIKey == "" && g.settings.YouTube.OAuthClientID == "" || err != nil {
		return nil
	}
	account, err := g.store.OfficialAccount(ctx, monitor.YouTube)
	if err != nil {
		return nil
	}
	status := account.Status(time.Now(), zone)
	return &status
}
