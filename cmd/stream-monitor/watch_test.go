package main

import (
	"testing"

	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestAWatchInTheForegroundCarriesTheCredentialsOfItsStream(t *testing.T) { // decision S27
	var g terminalGateway
	must.Do(t, g.name(&config.Watch{URL: "https://cdn.example/live.m3u8?a=1", Header: []string{"X-Key: one", "Authorization:two"}, TokenURL: "https://tokens.example/t", CopyQuery: true}))
	expect.Equal(t, "the stream", g.stream, "hls+https://cdn.example/live.m3u8")
	if got, want := g.secret, (monitor.StreamSecret{Query: "?a=1", Headers: map[string]string{"x-key": "one", "authorization": "two"}, TokenURL: "https://tokens.example/t", CopyQuery: true}); got.Query != want.Query ||
		got.TokenURL != want.TokenURL || !got.CopyQuery || len(got.Headers) != 2 || got.Headers["x-key"] != "one" || got.Headers["authorization"] != "two" {
		t.Errorf("it carries another secret: %q %q %q %v", got.Query, got.Headers, got.TokenURL, got.CopyQuery)
	}
	const youTube = "https://www.youtube.com/watch?v=abcdefghijk"
	for says, c := range map[string]config.Watch{
		"--header number 1 has no colon":           {URL: "https://cdn.example/live.m3u8", Header: []string{"X-Key"}},
		"a stream of YouTube takes none":           {URL: youTube, Header: []string{"X-Key: one"}},
		"a stream of YouTube has no token":         {URL: youTube, TokenURL: "https://tokens.example/t"},
		"a stream of YouTube has no query to copy": {URL: youTube, CopyQuery: true},
		"config.token_url is no such URL":          {URL: "https://cdn.example/live.m3u8", TokenURL: "tokens.example"},
	} {
		expect.Failure(t, new(terminalGateway).name(&c), says)
	}
}
