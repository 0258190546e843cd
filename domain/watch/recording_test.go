package watch_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/trouble"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

func TestEveryEffectOfARecordingIsReadAsItWasWritten(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	step := watch.RecordedStep{At: at, Observation: watch.Tick{}, Effects: []watch.Effect{
		watch.EventEmitted{Event: event.Event{ID: "e", Type: event.StreamEnded, At: at, Data: event.Ended{EndedAt: at, Reason: event.EndedByNotLive}}},
		watch.SignalEmitted{Signal: monitor.Signal{Condition: trouble.NoMedia, StartedAt: at, EndedAt: at.Add(time.Minute)}},
		watch.StatusChanged{Status: monitor.Completed},
		watch.HealthChanged{Stream: monitor.StreamEnded},
		watch.LogEntry{Warn: true, Message: "text", Data: map[string]any{"key": "value"}},
		watch.Finished{},
	}}
	raw, err := json.Marshal(step)
	if err != nil {
		t.Fatal(err)
	}
	var read watch.RecordedStep
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, step) {
		t.Errorf("written\n%+v, read\n%+v", step, read)
	}
}
