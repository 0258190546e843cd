package youtubeapi_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/youtubeapi"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/fake/youtube"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// startYouTube starts the stand-in for YouTube, with a client that reaches it at the real URLs, as in the suites.
func startYouTube(t *testing.T) (*youtube.Server, *http.Client) {
	t.Helper()
	y := must.Get(youtube.Start(youtube.Config{}))(t)
	t.Cleanup(func() { _ = y.Close() })
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(must.Get(os.ReadFile(y.CAFile()))(t))
	transport := &http.Transport{Proxy: http.ProxyURL(must.Get(url.Parse(y.Proxy()))(t)), TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return y, &http.Client{Transport: transport}
}

// TestEachStateOfTheStandIn asks about a video in each state.
func TestEachStateOfTheStandIn(t *testing.T) {
	y, client := startYouTube(t)
	ask := func(key string, ids ...string) officialstate.Response {
		return youtubeapi.New(client, key).Ask(t.Context(), ids)
	}
	expected := map[youtube.State]monitor.StreamStatus{
		youtube.Upcoming: monitor.StreamUpcoming, youtube.Premiere: monitor.StreamUpcoming,
		youtube.Ended: monitor.StreamEnded, youtube.PostLive: monitor.StreamEnded, youtube.Archived: monitor.StreamEnded, youtube.NoRecording: monitor.StreamEnded,
		youtube.Ordinary: monitor.StreamUnknown, youtube.Private: monitor.StreamUnknown, youtube.Removed: monitor.StreamUnknown, youtube.Unavailable: monitor.StreamUnknown,
	}
	var ids []string
	var streams []officialstate.Stream
	want := map[monitor.ID]monitor.StreamStatus{}
	add := func(name string, v youtube.Video, status monitor.StreamStatus) {
		id := youtube.NewVideoID()
		y.Add(id, v)
		ids, streams = append(ids, id), append(streams, officialstate.Stream{MonitorID: monitor.ID(name), SourceID: id})
		want[monitor.ID(name)] = status
	}
	for _, state := range youtube.States() {
		status, is := expected[state]
		if !is {
			status = monitor.StreamLive
		}
		add(string(state), youtube.Video{State: state}, status)
	}
	add("live, and the index is late", youtube.Video{State: youtube.Live, LateIndex: true}, monitor.StreamLive)
	r := ask(youtube.APIKey, ids...)
	if f := r.Failure(); f != nil {
		t.Fatal(f)
	}
	expect.Equal(t, "the states", r.States(streams), want)
	expect.Equal(t, "what the index says of the last one", r.Broadcasts[len(r.Broadcasts)-1].State, "upcoming")

	kind := func(r officialstate.Response) officialstate.FailureKind {
		if f := r.Failure(); f != nil {
			return f.Kind
		}
		return ""
	}
	expect.Equal(t, "another key", kind(ask(key, ids...)), officialstate.KeyRefused)
	for reason, want := range map[string]officialstate.FailureKind{"quotaExceeded": officialstate.QuotaExceeded, "accessNotConfigured": officialstate.KeyRefused, "": ""} {
		y.SetDataAPI(youtube.DataAPI{Refusal: reason})
		expect.Equal(t, "refused for "+reason, kind(ask(youtube.APIKey, ids...)), want)
	}
	y.SetDataAPI(youtube.DataAPI{Quota: 1})
	expect.Equal(t, "the last unit", kind(ask(youtube.APIKey, ids...)), "")
	expect.Equal(t, "no unit", kind(ask(youtube.APIKey, ids...)), officialstate.QuotaExceeded)
	for name, fault := range map[string]httpfault.Fault{"500": httpfault.Status(500), "a connection that is cut": httpfault.HangUp()} {
		remove := y.Inject(youtube.API, fault)
		expect.Equal(t, name, kind(ask(youtube.APIKey, ids...)), officialstate.Unreachable)
		remove()
	}
}
