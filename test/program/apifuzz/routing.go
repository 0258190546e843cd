package main

import (
	"context"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// routingIDs are the ids of what createRouting has created.
type routingIDs struct{ destination, route, silence string }

// createRouting creates a destination at which nothing listens, a route that leads there,
// and a silence.
func createRouting(ctx context.Context, service *system.Service, name string) (ids routingIDs, err error) {
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
	return routingIDs{destination.ID, route.ID, silence.ID}, err
}
