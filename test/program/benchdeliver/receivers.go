package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/ntfy"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/slack"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/telegram"
)

// The behaviours of receivers.
const (
	fine    = "fine"
	hangs   = "hangs"
	refuses = "refuses"

	callbacks = "callbacks" // accepts, and counts nothing
)

// receivers are the receivers of all webhooks, on one port.
type receivers struct {
	*httptest.Server

	mu      sync.Mutex
	arrived []time.Time // of webhooks, at healthy receivers
}

func startReceivers() *receivers {
	r := &receivers{}
	mux := http.NewServeMux()
	mux.HandleFunc("/"+fine, func(w http.ResponseWriter, _ *http.Request) {
		r.mu.Lock()
		r.arrived = append(r.arrived, time.Now())
		r.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/"+hangs, func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // the server notices only then that the sender has gone
		<-req.Context().Done()
	})
	mux.HandleFunc("/"+refuses, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("/"+callbacks, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	r.Server = httptest.NewServer(mux)
	return r
}

func (r *receivers) close() {
	r.CloseClientConnections()
	r.Close()
}

// arrivals returns when webhooks came to healthy receivers, without the first ones.
func (r *receivers) arrivals(first int) []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.arrived[first:])
}

// fakeChannel is a destination that people read, with the fake behind it.
type fakeChannel struct {
	server      *channel.Server
	destination notify.Destination
}

// startChannels starts n fakes of each channel with rate limits.
func startChannels(n int) (all []fakeChannel) {
	add := func(s *channel.Server, kind notify.Kind, config, secrets map[string]string) {
		all = append(all, fakeChannel{s, notify.Destination{Kind: kind, Config: config, Secrets: secrets}})
	}
	for range n {
		s, t, n := slack.New(), telegram.New(), ntfy.New()
		add(s.Server, notify.Slack, map[string]string{"channel": slack.Channel, "api_url": s.APIURL()}, map[string]string{"bot_token": slack.Token})
		add(t.Server, notify.Telegram, map[string]string{"chat_id": telegram.ChatID, "api_url": t.URL}, map[string]string{"bot_token": telegram.Token})
		add(n.Server, notify.Ntfy, map[string]string{"server_url": n.URL, "topic": ntfy.Topic}, map[string]string{"token": ntfy.Token})
	}
	return all
}

func closeChannels(all []fakeChannel) {
	for _, c := range all {
		c.server.Close()
	}
}
