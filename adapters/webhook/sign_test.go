package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

type receivedRequest struct {
	header http.Header
	body   []byte
}

// deliverOnce sends one webhook, at a time, and returns the request. The service has one key, and
// the webhook may have keys of its own.
func deliverOnce(t *testing.T, service string, own []string, at time.Time) receivedRequest {
	t.Helper()
	got := make(chan receivedRequest, 1)
	receiver := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- receivedRequest{r.Header, b}
		w.WriteHeader(http.StatusNoContent)
	})
	later := at
	clock := func() time.Time { // goes on from call to call
		defer func() { later = later.Add(time.Minute) }()
		return later
	}
	s := webhook.NewSender(keys(t, service), local(t), webhook.Config{Version: "1.2.3", Now: clock})
	t.Cleanup(s.Close)
	if a := s.Send(t.Context(), monitor.CallbackURL(receiver.URL+"/hook"), anEvent(), own); a.Status != 204 || !a.At.Equal(at) {
		t.Fatalf("answer %+v", a)
	}
	return <-got
}

// Section 12.2, decision W5.
func TestEveryWebhookIsSignedInBothSchemes(t *testing.T) {
	d := deliverOnce(t, oldKey, nil, time.Unix(1705315000, 0))
	if string(d.body) != body {
		t.Errorf("body %s, want the bytes of the delivery", d.body)
	}
	// Computed once with Python's hmac, as section 12.2 shows it.
	for name, want := range map[string]string{
		"Content-Type":      "application/json",
		"User-Agent":        "stream-monitor/1.2.3",
		"X-Event-Id":        eventID,
		"X-Event-Type":      "alert.blackout",
		"X-Timestamp":       "1705315000",
		"X-Signature-256":   "sha256=e1ff2e30949cd3f8bd29b26e8427a6270aceddbbac06aa311fe215338eefacbf",
		"Webhook-Id":        eventID,
		"Webhook-Timestamp": "1705315000",
		"Webhook-Signature": "v1,LYU6YZ/fWeMOcpsE02BdQtQChqTEY5TYpPMjyn5aD5U=",
	} {
		expect.Equal(t, name, d.header.Get(name), want)
	}
}

// Decision W6; section 19.1: a destination has keys of its own.
func TestTwoKeysSignDuringARotation(t *testing.T) {
	for of, d := range map[string]receivedRequest{
		"the service":     deliverOnce(t, newKey+","+oldKey, nil, time.Now()),
		"the destination": deliverOnce(t, "another", []string{newKey, oldKey}, time.Now()),
	} {
		mac := hmac.New(sha256.New, []byte(newKey))
		mac.Write([]byte(d.header.Get("X-Timestamp") + "." + body))
		if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); d.header.Get("X-Signature-256") != want {
			t.Errorf("with the keys of %s X-Signature-256 is not signed with the first", of)
		}
		for key, signs := range map[string]bool{newKey: true, oldKey: true, "another": false} {
			w := must.Get(standardwebhooks.NewWebhookRaw([]byte(key)))(t)
			if err := w.Verify(d.body, d.header); (err == nil) != signs {
				t.Errorf("with the keys of %s, %s: %v", of, key, err)
			}
			if w.Verify(append(d.body, ' '), d.header) == nil {
				t.Errorf("with the keys of %s a changed body passes", of)
			}
		}
	}
	s := sender(t, local(t), webhook.Config{})
	if a := s.Send(t.Context(), "https://public.example/hook", anEvent(), []string{}); a.Accepted() || a.Error != "no signing key" {
		t.Errorf("without a key of its own the answer is %+v", a)
	}
}

func TestParseKeysAcceptsOneOrTwoKeys(t *testing.T) {
	for text, want := range map[string][]string{
		"one": {"one"}, "new,old": {"new", "old"}, "new, old": {"new", "old"}, "a/b+c%d": {"a/b+c%d"},
	} {
		expect.Equal(t, text, keys(t, text), want)
	}
	for name, bad := range map[string]string{
		"no key":                       "",
		"three keys":                   "geheim1,geheim2,geheim3",
		"an empty second key":          "geheim1,",
		"an empty first key":           ",geheim1",
		"a key with a line break":      "geheim1\n",
		"a blank before the comma":     "geheim1 ,geheim2",
		"a blank in a key":             "geheim1 geheim2",
		"a letter of another alphabet": "geheim\u00e9",
		"a key that is nothing but it": " ",
	} {
		_, err := webhook.ParseKeys(bad)
		if err == nil || !strings.Contains(err.Error(), "accepted are one or two keys") || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
