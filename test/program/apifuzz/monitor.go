package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// registerWithEvent registers a monitor and reports an event for it, as its worker
// would.
func registerWithEvent(ctx context.Context, service *system.Service, receiver *webhookreceiver.Receiver) (id, event string, err error) {
	video := fmt.Sprintf("%011d", rand.Int64N(1e11))
	if id, err = service.Register(ctx, "https://www.youtube.com/watch?v="+video, receiver.URL(), nil); err != nil {
		return "", "", err
	}
	event = fmt.Sprintf("0190a5d0-1c2b-7d8a-9c1d-%012x", rand.Int64N(1<<48))
	at := time.Now().Format(time.RFC3339)
	body, err := json.Marshal(map[string]any{"generation": 1, "events": []any{map[string]any{
		"event_id": event, "event_type": "alert.blackout", "timestamp": at,
		"data": map[string]any{"duration_sec": 30, "started_at": at, "threshold_sec": 30,
			"segment_info": map[string]any{"sequence": 12345, "duration": 5}},
	}}})
	if err != nil {
		return "", "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, service.InternalURL()+"/internal/v1/monitors/"+id+"/status", bytes.NewReader(body))
	if err != nil {
		return "", "", err
	}
	req.Header.Set("X-Internal-API-Key", system.WorkerToken(id))
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return "", "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		answer, _ := io.ReadAll(res.Body)
		return "", "", fmt.Errorf("reporting an event was answered with %d %s", res.StatusCode, answer)
	}
	return id, event, nil
}
