package main

import (
	"context"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
	"github.com/stream-monitor/stream-monitor/adapters/gateway"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/bench"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
	"github.com/stream-monitor/stream-monitor/test/harness/testenv"
)

// registerWithEvent registers a monitor and reports an event for it, as its worker would.
func registerWithEvent(ctx context.Context, set *testenv.Env) (id, eventID string, err error) {
	if id, err = set.Service.Register(ctx, set.YouTube.URL(youtube.NewVideoID()), set.Receiver.URL(), nil); err != nil {
		return "", "", err
	}
	worker, err := gateway.New(set.Service.InternalURL(), system.WorkerToken(id), gateway.Config{})
	if err != nil {
		return "", "", err
	}
	defer worker.Close()
	blackout := bench.NewBlackout()
	_, err = worker.Report(ctx, monitor.ID(id), bench.NewReport(blackout))
	return id, blackout.ID, err
}

// createRouting creates a destination at which nothing listens, a route that leads there, and a
// silence. It returns their ids as variables of the settings.
func createRouting(ctx context.Context, service *system.Service, name string) (ids map[string]string, err error) {
	client := apiclient.New(service.URL(), system.APIKey, nil)
	create := func(path string, body map[string]any, created any) {
		if err == nil {
			err = client.Call(ctx, "POST", "/api/v1/"+path, body, created)
		}
	}
	var destination notify.Destination
	create("destinations", map[string]any{
		"name": name, "kind": "discord", "secrets": map[string]string{"webhook_url": "http://127.0.0.1:9/api/webhooks/1/x"},
	}, &destination)
	var route notify.Route
	create("routes", map[string]any{"name": name, "destinations": []string{destination.ID}}, &route)
	var silence notify.Silence
	create("silences", map[string]any{"match": map[string]any{}, "to": "2999-01-01T00:00:00Z", "by": name}, &silence)
	return map[string]string{"DESTINATION": destination.ID, "ROUTE": route.ID, "SILENCE": silence.ID}, err
}
