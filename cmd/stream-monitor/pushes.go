package main

import (
	"context"

	"github.com/stream-monitor/stream-monitor/adapters/twitchapi"
	"github.com/stream-monitor/stream-monitor/application/pushes"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/eventsub"
)

// newPushes makes what takes the webhooks of Twitch; without TWITCH_EVENTSUB_URL it refuses all.
func (a *assembly) newPushes() *pushes.Service {
	var secret eventsub.Secret
	if a.settings.Twitch.EventSubURL != "" {
		secret = eventsub.SecretOf(a.keys.Secrets[0]) // all gateways have the same
	}
	return pushes.NewService(a.store, secret, a.clock, a.log)
}

// newPushTasks makes the tasks of the leader that keep the subscriptions, and the messages for as long as they are kept.
func (a *assembly) newPushTasks(service *pushes.Service, api *twitchapi.Client) []supervisor.LeaderTask {
	cfg := pushes.FollowerConfig{Client: a.settings.Twitch.ClientID}
	if base := a.settings.Twitch.EventSubURL; base != "" {
		cfg.Callback = base + "/eventsub/twitch"
	}
	follower := pushes.NewFollower(service, api, api, twitchapi.NewSockets(apiClient(a.resolving.proxies)), cfg)
	return []supervisor.LeaderTask{
		{Name: "pushes of Twitch", Every: eventsub.SyncEvery, Run: follower.Run, Lasting: true},
		{Name: "messages of Twitch", Every: eventsInterval, Run: service.Expire},
	}
}

// eventSub returns what is known of the pushes of Twitch; nil: there are no credentials, or the database does not tell.
func (g *gatewayServer) eventSub(ctx context.Context) *eventsub.Status {
	if g.settings.Twitch.ClientID == "" {
		return nil
	}
	state, err := g.store.EventSubState(ctx)
	if err != nil {
		return nil
	}
	status := state.Status()
	return &status
}
