package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

type receivedRequest struct {
	header http.Header
	body   []byte
}

// deliverOnce sends one webhook with the given keys and returns the request.
func deliverOnce(t *testing.T, secret string, now func() time.Time) receivedRequest {
	t.Helper()
	got := make(chan receivedRequest, 1)
	receiver := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- receivedRequest{r.Header, b}
		w.WriteHeader(http.StatusNoContent)
	})
	s := webhook.NewSender(keys(t, secret), local(t), webhook.Config{Version: "1.2.3", Now: now})
	t.Cleanup(s.Close)
	if a := send(t.Context(), s, receiver.URL+"/hook"); !a.Accepted() || a.Status != 204 {
		t.Fatalf("answer %+v", a)
	}
	return <-got
}

// Section 12.2, decision W5.
func TestEveryWebhookIsSignedInBothSchemes(t *testing.T) {
	at := time.Unix(1705315000, 0)
	d := deliverOnce(t, oldKey, func() time.Time { return at })

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
		if got := d.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestEachAttemptHasItsOwnTimestamp(t *testing.T) {
	for _, at := range []int64{1705315000, 1705315011} {
		d := deliverOnce(t, oldKey, func() time.Time { return time.Unix(at, 0) })
		stamp := d.header.Get("X-Timestamp")
		if stamp != strconv.FormatInt(at, 10) {
			t.Errorf("X-Timestamp %s, want %d", stamp, at)
		}
		mac := hmac.New(sha256.New, []byte(oldKey))
		mac.Write([]byte(stamp + "." + body))
		if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); d.header.Get("X-Signature-256") != want {
			t.Errorf("X-Signature-256 %s, want %s", d.header.Get("X-Signature-256"), want)
		}
	}
}

// Decision W6.
func TestTwoKeysSignDuringARotation(t *testing.T) {
	d := deliverOnce(t, newKey+","+oldKey, nil)

	mac := hmac.New(sha256.New, []byte(newKey))
	mac.Write([]byte(d.header.Get("X-Timestamp") + "." + body))
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); d.header.Get("X-Signature-256") != want {
		t.Error("X-Signature-256 is not signed with the first key")
	}
	if n := len(strings.Fields(d.header.Get("webhook-signature"))); n != 2 {
		t.Errorf("webhook-signature has %d signatures, want 2", n)
	}
	for _, key := range []string{oldKey, newKey} {
		t.Run("the Standard Webhooks library verifies it with the key "+key, func(t *testing.T) {
			w, err := standardwebhooks.NewWebhook("whsec_" + base64.StdEncoding.EncodeToString([]byte(key)))
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Verify(d.body, d.header); err != nil {
				t.Error(err)
			}
			if w.Verify(append(d.body, ' '), d.header) == nil {
				t.Error("a changed body passes")
			}
		})
	}
	t.Run("the Standard Webhooks library refuses it with another key", func(t *testing.T) {
		w, _ := standardwebhooks.NewWebhookRaw([]byte("another"))
		if w.Verify(d.body, d.header) == nil {
			t.Error("passes")
		}
	})
}

func TestParseKeysAcceptsOneOrTwoKeys(t *testing.T) {
	for text, want := range map[string][]string{
		"one": {"one"}, "new,old": {"new", "old"}, "new, old": {"new", "old"}, "a/b+c%d": {"a/b+c%d"},
	} {
		t.Run("keys are read from "+text, func(t *testing.T) {
			if got := keys(t, text); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
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
		t.Run(name+" is refused without being shown", func(t *testing.T) {
			_, err := webhook.ParseKeys(bad)
			if err == nil || !strings.Contains(err.Error(), "accepted are one or two keys") || strings.Contains(err.Error(), "geheim") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Section 19.1: a destination has a key of its own, and during a rotation the former one.
func TestAWebhookIsSignedWithTheKeysOfItsDestination(t *testing.T) {
	got := make(chan receivedRequest, 1)
	receiver := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- receivedRequest{r.Header, b}
		w.WriteHeader(http.StatusNoContent)
	})
	s := webhook.NewSender(keys(t, "of-the-service"), local(t), webhook.Config{})
	t.Cleanup(s.Close)
	url := monitor.CallbackURL(receiver.URL + "/hook")
	if a := s.Send(t.Context(), url, anEvent(), []string{newKey, oldKey}); !a.Accepted() {
		t.Fatalf("answer %+v", a)
	}
	d := <-got
	for key, want := range map[string]bool{newKey: true, oldKey: true, "of-the-service": false} {
		w, err := standardwebhooks.NewWebhookRaw([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Verify(d.body, d.header); (err == nil) != want {
			t.Errorf("%s: %v", key, err)
		}
	}
	if a := s.Send(t.Context(), url, anEvent(), []string{}); a.Accepted() || a.Error != "no signing key" {
		t.Errorf("without a key the answer is %+v", a)
	}
}
