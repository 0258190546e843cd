package main

import (
	"context"
	"math/rand/v2"
	"net/http"

	"github.com/stream-monitor/stream-monitor/adapters/stream/proxies"
	"github.com/stream-monitor/stream-monitor/application/channels"
	"github.com/stream-monitor/stream-monitor/application/keyring"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/worker/request"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// expiredChannels is how many events, and stopped channels, one run deletes.
const expiredChannels = 500

// newChannels makes what registers channels, and the tasks of the leader that find their streams.
func (a *assembly) newChannels(audit *keyring.Audit, broadcasts map[monitor.SourceName]channels.BroadcastsAPI) (*channels.Service, []supervisor.LeaderTask) {
	discovery := channels.NewDiscovery(a.store, channels.DiscoveryConfig{
		Listers:   a.resolving.listers(a.settings.Watching, a.log),
		APIs:      broadcasts,
		Resolver:  a.resolving.sources(a.settings.Watching, a.log),
		Registrar: monitors.NewForChannels(a.monitors, channelAudit{audit}),
		Logins:    lentJars{a.jars},
		Pages:     pageBudget{a.resolving.egress},
		Now:       a.clock,
		Jitter:    rand.Float64,
		Log:       a.log,
	})
	service := channels.NewService(a.store, discovery, newEventID)
	return service, []supervisor.LeaderTask{
		{Name: "channels", Every: channels.Every, Run: discovery.Run},
		{Name: "stopped channels", Every: eventsInterval, Run: func(ctx context.Context) error {
			return a.store.ExpireChannels(ctx, a.settings.EventRetention, expiredChannels)
		}},
	}
}

// pageBudget counts the pages of channels, and those that fail, for the egress addresses, which the resolvers share.
type pageBudget struct{ egress *proxies.Chooser }

// Page implements channels.Pages.
func (b pageBudget) Page(ctx context.Context, source monitor.SourceName) (context.Context, bool) {
	address, ok := b.egress.Page(source)
	return request.WithEgress(ctx, address), ok
}

// Record implements channels.Pages.
func (b pageBudget) Record(through context.Context, source monitor.SourceName, outcome watch.StreamState) {
	b.egress.RecordPage(source, request.Egress(through), outcome)
}

// channelAudit records in the audit list what is done for channels.
type channelAudit struct{ audit *keyring.Audit }

// Record implements monitors.Recorder.
func (r channelAudit) Record(ctx context.Context, by, action string, do func(context.Context) (string, error)) error {
	seq, err := r.audit.Begin(ctx, keyring.Entry{KeyName: by, Action: action, Objects: []string{}})
	if err != nil {
		return err
	}
	object, err := do(ctx)
	if err != nil {
		r.audit.Finish(ctx, seq, nil, 0)
		return err
	}
	r.audit.Finish(ctx, seq, []string{object}, http.StatusOK)
	return nil
}
