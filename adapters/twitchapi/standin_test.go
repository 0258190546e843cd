package twitchapi_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/twitchapi"
	"github.com/stream-monitor/stream-monitor/application/officialstates"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
	"github.com/stream-monitor/stream-monitor/test/fake/twitch"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

var _ officialstates.API = (*twitchapi.Client)(nil)

// startTwitch starts the stand-in for Twitch, with a client that reaches it at the real URLs, as in the suites.
func startTwitch(t *testing.T) (*twitch.Site, *http.Client) {
	t.Helper()
	y := must.Get(youtube.Start(youtube.Config{}))(t)
	t.Cleanup(func() { _ = y.Close() })
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(must.Get(os.ReadFile(y.CAFile()))(t))
	transport := &http.Transport{Proxy: http.ProxyURL(must.Get(url.Parse(y.Proxy()))(t)), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return twitch.New(y), &http.Client{Transport: transport}
}

func TestTheStandInAnswersAnApplication(t *testing.T) {
	site, through := startTwitch(t)
	states := map[twitch.State]monitor.StreamStatus{
		twitch.NotLive: monitor.StreamUpcoming, twitch.Live: monitor.StreamLive, twitch.Late: monitor.StreamLive, twitch.Rerun: monitor.StreamUpcoming,
		twitch.Gone: monitor.StreamUpcoming, twitch.Subscribers: monitor.StreamLive, twitch.Region: monitor.StreamLive,
	}
	var logins []string
	var streams []officialstate.Stream
	want := map[monitor.ID]monitor.StreamStatus{}
	broadcasts := map[string]string{}
	for state, status := range states {
		login := string(state)
		broadcasts[login] = site.Broadcast(login, nil)
		site.Set(login, state)
		logins, streams = append(logins, login), append(streams, officialstate.Stream{MonitorID: monitor.ID(login), SourceID: login, Place: true})
		want[monitor.ID(login)] = status
	}
	client := twitchapi.New(through, twitch.ClientID, twitch.ClientSecret)
	ask := func() officialstate.Response { return client.Ask(t.Context(), logins) }
	r := ask()
	expect.Equal(t, "the failure", r.Failure(), nil)
	expect.Equal(t, "the states", r.States(streams), want)
	for _, v := range r.Broadcasts {
		expect.Equal(t, "the broadcast of "+v.ID, v.BroadcastID, broadcasts[v.ID])
	}
	site.RevokeTokens()
	expect.Equal(t, "the failure once the token is revoked", ask().Failure(), nil)
	calls, asked := site.HelixCalls()
	expect.Equal(t, "the calls, and logins", []int{calls, asked}, []int{2, 2 * len(logins)})

	site.SetHelix(twitch.Helix{Points: 1})
	expect.Equal(t, "the failure with the last point", ask().Failure(), nil)
	expect.Equal(t, "without points", ask().Failure().Kind, officialstate.RateLimited)
	for _, wrong := range []*twitchapi.Client{twitchapi.New(through, "other", twitch.ClientSecret), twitchapi.New(through, twitch.ClientID, "other")} {
		expect.Equal(t, "with wrong credentials", wrong.Ask(t.Context(), logins).Failure().Kind, officialstate.KeyRefused)
	}
}
