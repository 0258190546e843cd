package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/stream/tool"
	"github.com/stream-monitor/stream-monitor/adapters/youtubeapi"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/cookiejars"
	"github.com/stream-monitor/stream-monitor/application/ingests"
	"github.com/stream-monitor/stream-monitor/application/opinions"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/doctor"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// runDoctor checks the machine and prints a report. Errors: a check has failed.
func runDoctor(ctx context.Context, c *config.Doctor, out console) error {
	c.Watching.Export() // the proxies, for the questions to sources, and tool-launcher
	list, _, _ := c.Watching.Egress()
	tools := resolvingTools{proxies: list, transport: &http.Transport{Proxy: list.Proxy}}
	probers := map[monitor.SourceName]worker.Prober{}
	for name, source := range tools.sources(c.Watching, slog.New(slog.DiscardHandler)) {
		if source.Prober != nil {
			probers[name] = source.Prober
		}
	}
	ok, err := doctor.Doctor{
		Settings: *c, Now: time.Now(), DatabaseTime: databaseTime, CookieJars: storedCookieJars, Channels: storedChannels, CheckCluster: checkCluster, CheckBucket: checkBucket, AskOpinion: askExample,
		AskYouTubeAPI: newYouTubeAPI(list, c.YouTube.APIKey).Ask, AskTwitchAPI: newTwitchAPI(list, c.Twitch).Ask, IngestLogins: storedIngestLogins, EventSub: storedEventSub,
		AskOAuth: func(ctx context.Context) officialstate.Response {
			_, _, r := youtubeapi.NewOwner(apiClient(list), c.YouTube.OAuthClientID, c.YouTube.OAuthClientSecret).Access(ctx, "1//doctor")
			return r
		},
		CheckLauncher: tool.CheckLauncher, Landlock: tool.Landlock, Missing: tool.Missing, OpenFiles: config.OpenFiles(), LookupHost: net.DefaultResolver.LookupHost, Probers: probers,
	}.Examine(ctx, out.out)
	if err == nil && !ok {
		err = errors.New("not everything is in order; see above")
	}
	return err
}

// askExample asks an endpoint of second opinions about an event that nothing has made.
func askExample(ctx context.Context, f config.OpinionFlags, allowed config.Networks) incident.Opinion {
	id, now := newEventID(), time.Now()
	body, err := event.NewTest(id, now)
	if err != nil {
		return incident.NoOpinion(err.Error())
	}
	adviser := newAdviser(f, allowed, time.Now)
	defer adviser.Close()
	return adviser.Ask(ctx, opinions.Question{EventID: id, EventType: string(event.Test), Condition: detector.Table[0].Condition, Event: body, AskedAt: now, Test: true})
}

func checkCluster(ctx context.Context, f config.ClusterFlags) (namespace string, err error) {
	cluster, err := openCluster(f)
	if err != nil {
		return "", err
	}
	return cluster.Namespace(), cluster.Check(ctx)
}

func storedCookieJars(ctx context.Context, dsn string) ([]cookiejars.Record, error) {
	store, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return nil, err
	}
	jars, err := store.CookieJars(ctx)
	return jars, errors.Join(err, store.Close())
}

func storedIngestLogins(ctx context.Context, dsn string) ([]ingests.Login, error) {
	store, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return nil, err
	}
	logins, err := store.IngestLogins(ctx)
	return logins, errors.Join(err, store.Close())
}

func storedEventSub(ctx context.Context, dsn string) (eventsub.State, error) {
	store, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return eventsub.State{}, err
	}
	state, err := store.EventSubState(ctx)
	return state, errors.Join(err, store.Close())
}

func storedChannels(ctx context.Context, dsn string) ([]channels.Listed, error) {
	store, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return nil, err
	}
	all, _, err := store.Channels(ctx, false, channels.MaxChannels, 0)
	return all, errors.Join(err, store.Close())
}

func databaseTime(ctx context.Context, dsn string) (time.Time, error) {
	store, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return time.Time{}, err
	}
	at, err := store.CurrentTime(ctx)
	return at, errors.Join(err, store.Close())
}
