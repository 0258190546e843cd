package docgen_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/application/monitors/monitorstest"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const (
	signingKey = "an-example-key"
	eventID    = "0190a5d0-1c2b-7d8a-9c1d-2e3f4a5b6c7d"
	monitorID  = "mon-0190a5c8e4b07d8a9c1d2e3f4a5b6c7d"
	streamURL  = "https://www.youtube.com/watch?v=XXXXXXXXXXX"
	metadata   = `{"channel_name":"Example Channel","stream_title":"配信タイトル","custom_data":{}}`
)

var (
	tokyo  = time.FixedZone("JST", 9*60*60)
	eight  = time.Date(2024, 1, 15, 20, 0, 0, 0, tokyo)
	signed = time.Date(2024, 1, 15, 20, 15, 31, 0, tokyo)
)

func at(minute, second int) time.Time {
	return eight.Add(time.Duration(minute)*time.Minute + time.Duration(second)*time.Second)
}

// examples returns one event of every type, and one of every kind of monitor.error.
func examples() map[string]event.Event {
	schedule, delay := eight, int64(320)
	segment := event.SegmentInfo{Sequence: 1520, Duration: 2}
	all := map[string]event.Event{}
	for name, e := range map[string]struct {
		at   time.Time
		data event.Data
	}{
		"stream.started":           {at(5, 24), event.Started{StartedAt: at(5, 20), DetectedAt: at(5, 24), ScheduledStartTime: &schedule, DelaySec: &delay}},
		"stream.ended":             {at(90, 2), event.Ended{EndedAt: at(90, 0), Reason: event.EndedByEndlist, DurationSec: 5080}},
		"stream.delayed":           {at(5, 10), event.Delayed{ScheduledStartTime: schedule, DelaySec: 310, ToleranceSec: 300}},
		"alert.blackout":           {at(15, 30), event.Alert{DurationSec: 35, StartedAt: at(14, 55), ThresholdSec: 30, SegmentInfo: segment}},
		"alert.blackout_recovered": {at(15, 42), event.Recovered{TotalDurationSec: 45, StartedAt: at(14, 55), RecoveredAt: at(15, 40)}},
		"alert.silence":            {at(15, 30), event.Alert{DurationSec: 35, StartedAt: at(14, 55), ThresholdSec: 30, SegmentInfo: segment}},
		"alert.silence_recovered":  {at(15, 42), event.Recovered{TotalDurationSec: 45, StartedAt: at(14, 55), RecoveredAt: at(15, 40)}},
		"alert.segment_error": {at(31, 1), event.Outage{StartedAt: at(30, 0), DurationSec: 61, ThresholdSec: 60,
			Failure: event.FailedManifest, LastError: "the playlist: 502 Bad Gateway"}},
		"monitor.error": {at(40, 0), event.MonitorFailure{Reason: event.ReasonVideoPrivate, ErrorDetails: "This video is private", Terminal: true}},
		"monitor.error, blind": {at(40, 0), event.MonitorFailure{Reason: event.ReasonBlind,
			ErrorDetails: "nothing could be learned of the stream for 5 minutes: Sign in to confirm you're not a bot"}},
		"monitor.error, reconciliation": {at(40, 0), event.MonitorFailure{Reason: event.ReasonMismatch,
			ErrorDetails: "Pod not found in Kubernetes cluster during startup reconciliation", Terminal: true,
			ReconciliationAction: "mark_as_error_missing_pod", PreviousStatus: "monitoring",
			ObservedState: &event.ObservedState{DBStatus: "monitoring"}}},
	} {
		kind, _, _ := strings.Cut(name, ",")
		all[name] = event.Event{ID: eventID, Type: event.Type(kind), At: e.at, Data: e.data}
	}
	for _, d := range detector.Optional() {
		lasted := int64(d.Threshold.Default) + 5
		since := at(15, 30).Add(-time.Duration(lasted) * time.Second)
		alert := event.Alert{DurationSec: lasted, StartedAt: since, ThresholdSec: int64(d.Threshold.Default), SegmentInfo: segment, Measured: d.Example}
		if d.References {
			alert.Reference = "Starting soon"
		}
		all[d.Alert] = event.Event{ID: eventID, Type: event.Type(d.Alert), At: at(15, 30), Data: alert}
		all[d.Recovered] = event.Event{ID: eventID, Type: event.Type(d.Recovered), At: at(15, 42), Data: event.Recovered{
			TotalDurationSec: lasted + 10, StartedAt: since, RecoveredAt: at(15, 40),
		}}
	}
	return all
}

// request is a webhook as the receiver got it.
type request struct {
	raw    string // request line, headers and body, with the name of the receiver replaced
	header http.Header
	body   []byte
}

// deliveries sends every example with the real sender and returns what arrived.
func deliveries(t *testing.T) map[string]request {
	t.Helper()
	keys, err := webhook.ParseKeys(signingKey)
	if err != nil {
		t.Fatal(err)
	}
	here := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	sender := webhook.NewSender(keys, webhook.NewGuard(here, nil), webhook.Config{Version: "1.0.0", Now: func() time.Time { return signed }})
	t.Cleanup(sender.Close)

	all := map[string]request{}
	for _, typ := range event.Types() {
		if _, found := examples()[string(typ)]; !found {
			t.Errorf("there is no example of %s", typ)
		}
	}
	for name, e := range examples() {
		if err := e.Valid(); err != nil {
			t.Fatal(err)
		}
		body, err := event.NewPayload(e, monitorID, streamURL, json.RawMessage(metadata), tokyo).Encode()
		if err != nil {
			t.Fatal(err)
		}
		all[name] = receive(t, func(url monitor.CallbackURL) {
			if a := sender.Send(t.Context(), url, delivery.Event{EventID: e.ID, EventType: e.Type, Body: body}, nil); !a.Accepted() {
				t.Errorf("%s: %+v", name, a)
			}
		})
	}
	services, err := monitors.NewServices(&monitorstest.Store{}, &monitorstest.WorkerManager{}, monitorstest.CallbackPolicy(nil), sender, monitors.Config{
		NewUUID: func() [16]byte {
			return [16]byte{0x01, 0x90, 0xa5, 0xd0, 0x1c, 0x2b, 0x7d, 0x8a, 0x9c, 0x1d, 0x2e, 0x3f, 0x4a, 0x5b, 0x6c, 0x7d}
		},
		Now: func() time.Time { return signed }, Zone: tokyo, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	all["webhook.test"] = receive(t, func(url monitor.CallbackURL) {
		if trial, err := services.WebhookTester.TestWebhook(context.Background(), string(url)); err != nil || trial.Attempt.Error != "" {
			t.Errorf("webhook.test: %v %v", trial, err)
		}
	})
	return all
}

// receive accepts one webhook and records it.
func receive(t *testing.T, send func(monitor.CallbackURL)) request {
	t.Helper()
	got := make(chan request, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := httputil.DumpRequest(r, true)
		body, readErr := io.ReadAll(r.Body)
		if err == nil && readErr == nil {
			got <- request{strings.NewReplacer("\r\n", "\n", r.Host, "example.com").Replace(string(raw)), r.Header, body}
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer receiver.Close()
	send(monitor.CallbackURL(receiver.URL + "/webhook/stream-alert"))
	select {
	case d := <-got:
		return d
	default:
		t.Fatal("no webhook arrived")
		return request{}
	}
}
