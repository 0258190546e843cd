package webhookreceiver_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key  = "a key of the two of us"
	body = `{"event_id":"0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d","event_type":"alert.blackout","monitor_id":"mon-1",` +
		`"stream_url":"https://www.youtube.com/watch?v=XXXXXXXXXXX","timestamp":"2024-01-15T20:15:30+09:00",` +
		`"data":{"duration_sec":35,"started_at":"2024-01-15T20:14:55+09:00","threshold_sec":30,"segment_info":{"sequence":1520,"duration":2.0}},` +
		`"metadata":{"a":1}}`
	eventID = "0190a5c8-e4b0-7d8a-9c1d-2e3f4a5b6c7d"
)

// signed returns a signed delivery (sections 4 and 12.2, Standard Webhooks). It does
// not use the product's code.
func signed(t *testing.T, url, body string, at time.Time) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	r.Header.Set("X-Timestamp", stamp)
	r.Header.Set("X-Signature-256", "sha256="+hex.EncodeToString(sum(stamp+"."+body)))
	r.Header.Set("X-Event-Id", eventID)
	r.Header.Set("X-Event-Type", "alert.blackout")
	standard(r, eventID, body)
	return r
}

// standard adds the Standard Webhooks headers.
func standard(r *http.Request, id, body string) {
	stamp := r.Header.Get("X-Timestamp")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", stamp)
	r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(sum(id+"."+stamp+"."+body)))
}

func sum(s string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(s))
	return mac.Sum(nil)
}

func start(t *testing.T) *webhookreceiver.Receiver {
	t.Helper()
	s, err := webhookreceiver.Start(webhookreceiver.Config{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func status(t *testing.T, c *http.Client, r *http.Request) int {
	t.Helper()
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestASignedDeliveryIsVerifiedAndAccepted(t *testing.T) {
	s := start(t)
	if got := status(t, client(t), signed(t, s.URL(), body, time.Now())); got != http.StatusNoContent {
		t.Fatalf("status %d: %+v", got, s.All())
	}
	d := s.All()[0]
	if !d.Verified || !d.Accepted || d.Attempt != 1 || d.EventID != eventID || d.EventType != "alert.blackout" || d.MonitorID != "mon-1" ||
		d.Data.DurationSec != 35 || d.Data.SegmentInfo.Sequence != 1520 || string(d.Metadata) != `{"a":1}` || string(d.Body) != body {
		t.Errorf("%+v", d)
	}
}

func TestADeliveryWithAFlawIsRefusedWithItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		alter func(*http.Request)
		body  string
		at    time.Duration
		want  string
	}{
		"signatures of another body": {alter: func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(strings.Replace(body, "35", "36", 1))) }, want: "X-Signature-256: wrong"},
		"301 s old":                  {at: -301 * time.Second, want: "X-Timestamp"},
		"301 s ahead":                {at: 302 * time.Second, want: "X-Timestamp"},
		"no signature":               {alter: func(r *http.Request) { r.Header.Del("X-Signature-256") }, want: "X-Signature-256"},
		"no timestamp":               {alter: func(r *http.Request) { r.Header.Del("X-Timestamp") }, want: "X-Timestamp"},
		"no standard signature":      {alter: func(r *http.Request) { r.Header.Del("Webhook-Signature") }, want: "standard webhooks"},
		"another standard signature": {alter: func(r *http.Request) { r.Header.Set("Webhook-Signature", "v1,AAAA") }, want: "standard webhooks"},
		"another event id":           {alter: func(r *http.Request) { r.Header.Set("X-Event-Id", "x") }, want: "X-Event-Id"},
		"another webhook-id, signed": {alter: func(r *http.Request) { standard(r, "x", body) }, want: "webhook-id"},
		"another event type":         {alter: func(r *http.Request) { r.Header.Set("X-Event-Type", "x") }, want: "X-Event-Type"},
		"not JSON":                   {body: "invalid", want: "body"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			if c.body == "" {
				c.body = body
			}
			r := signed(t, s.URL(), c.body, time.Now().Add(c.at))
			if c.alter != nil {
				c.alter(r)
			}
			if got := status(t, client(t), r); got != http.StatusUnauthorized {
				t.Errorf("status %d", got)
			}
			if d := s.All()[0]; d.Verified || d.Accepted || !strings.Contains(d.Problem, c.want) || len(s.Accepted()) != 0 {
				t.Errorf("%+v", d)
			}
		})
	}
	t.Run("a timestamp within 299 s is accepted", func(t *testing.T) {
		s := start(t)
		for _, off := range []time.Duration{-299 * time.Second, 299 * time.Second} {
			if got := status(t, client(t), signed(t, s.URL(), body, time.Now().Add(off))); got != http.StatusNoContent {
				t.Errorf("status %d: %+v", got, s.All())
			}
		}
	})
}
