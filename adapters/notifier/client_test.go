package notifier_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stream-monitor/stream-monitor/adapters/notifier"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestAReplyContainsNoSecret(t *testing.T) {
	const token, path = "xoxb-geheim-1234567", "a0b1c2d3e4f5"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/"+path)
		w.WriteHeader(http.StatusForbidden)
		// The second token crosses the end of what is kept.
		fmt.Fprint(w, r.Header.Get("Authorization"), r.URL.Path, strings.Repeat("x", 2048-70), token)
	}))
	t.Cleanup(server.Close)
	c := notifier.NewClient(notifier.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(c.Close)
	d := notify.Destination{Secrets: map[string]string{"token": token, "url": server.URL + "/hooks/" + path + "?key=" + token, "none": ""}}
	r := c.Do(t.Context(), d, notifier.Request{URL: d.Secrets["url"], Header: map[string]string{"Authorization": "Bearer " + token}, JSON: 1})
	r.AddReason("no channel for " + token + " at " + path)
	kept := fmt.Sprintf("%+v %+v %+v", r.Result, r.Exchange, r.Exchange.Answer)
	if strings.Contains(kept, "geheim") || strings.Contains(kept, path) {
		t.Errorf("the reply keeps %s", kept)
	}
	if r.Error != "HTTP 403 Forbidden: no channel for [hidden] at [hidden]" || r.Class != notify.Retry {
		t.Errorf("error %q, class %q", r.Error, r.Class)
	}
	if !strings.HasPrefix(r.Exchange.Answer.Body, "Bearer [hidden]/hooks/[hidden]x") {
		t.Errorf("the answer is kept as %q", r.Exchange.Answer.Body)
	}
}

func TestAURLThatCannotBeRequestedIsNotRepeated(t *testing.T) {
	c := notifier.NewClient(notifier.Config{})
	for _, url := range []string{"", "://geheim", "ftp://geheim.example", "https://", "http://a b/geheim"} {
		r := c.Do(t.Context(), notify.Destination{}, notifier.Request{URL: url})
		if r.Class != notify.Retry || r.Error != "the URL of the destination cannot be requested" {
			t.Errorf("%q: %q, %q", url, r.Error, r.Class)
		}
	}
}
