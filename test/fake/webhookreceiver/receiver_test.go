package webhookreceiver_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
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

func start(t *testing.T, c webhookreceiver.Config) *webhookreceiver.Receiver {
	t.Helper()
	c.Key = key
	s, err := webhookreceiver.Start(c)
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
	var out bytes.Buffer
	s := start(t, webhookreceiver.Config{Out: &out})
	if got := status(t, client(t), signed(t, s.URL(), body, time.Now())); got != http.StatusNoContent {
		t.Fatalf("status %d: %+v", got, s.All())
	}
	d := s.All()[0]
	if !d.Verified || !d.Accepted || d.Attempt != 1 || d.EventID != eventID || d.EventType != "alert.blackout" || d.MonitorID != "mon-1" ||
		d.Data.DurationSec != 35 || d.Data.SegmentInfo.Sequence != 1520 || string(d.Metadata) != `{"a":1}` || string(d.Body) != body {
		t.Errorf("%+v", d)
	}
	began := time.Date(2024, 1, 15, 11, 14, 55, 0, time.UTC).Local().Format(time.TimeOnly)
	want := fmt.Sprintf("%s alert.blackout             verified  black since %s for 35 s\n", d.Received.Local().Format(time.TimeOnly), began)
	if out.String() != want {
		t.Errorf("printed %s, want %s", out.String(), want)
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
			s := start(t, webhookreceiver.Config{})
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
		s := start(t, webhookreceiver.Config{})
		for _, off := range []time.Duration{-299 * time.Second, 299 * time.Second} {
			if got := status(t, client(t), signed(t, s.URL(), body, time.Now().Add(off))); got != http.StatusNoContent {
				t.Errorf("status %d: %+v", got, s.All())
			}
		}
	})
}

func TestTheToleranceOfTheClocksCanBeSet(t *testing.T) {
	s := start(t, webhookreceiver.Config{Tolerance: time.Hour})
	for off, want := range map[time.Duration]int{
		0: 204, 59 * time.Minute: 204, -59 * time.Minute: 204, 61 * time.Minute: 401, -61 * time.Minute: 401,
	} {
		if got := status(t, client(t), signed(t, s.URL(), body, time.Now().Add(off))); got != want {
			t.Errorf("clock off by %v: status %d, want %d", off, got, want)
		}
	}
	r, other := signed(t, s.URL(), body, time.Now()), signed(t, s.URL(), body, time.Now().Add(-time.Minute))
	for _, name := range []string{"X-Timestamp", "X-Signature-256"} {
		r.Header.Set(name, other.Header.Get(name))
	}
	if got := status(t, client(t), r); got != http.StatusUnauthorized {
		t.Errorf("status %d with two different timestamps", got)
	}
}

func TestAnInjectedFaultAnswersDeliveries(t *testing.T) {
	t.Run("a limited number of deliveries, each attempt is counted", func(t *testing.T) {
		s := start(t, webhookreceiver.Config{})
		s.Inject(2, httpfault.Status(500))
		for i, want := range []int{500, 500, 204, 204} {
			if got := status(t, client(t), signed(t, s.URL(), body, time.Now())); got != want {
				t.Errorf("attempt %d: %d", i+1, got)
			}
		}
		if s.Attempts(eventID) != 4 || s.All()[3].Attempt != 4 || len(s.Accepted()) != 1 || s.Accepted()[0].Attempt != 3 {
			t.Errorf("%+v", s.All())
		}
	})
	t.Run("until the fault is removed", func(t *testing.T) {
		s := start(t, webhookreceiver.Config{})
		remove := s.Inject(0, httpfault.Redirect("http://127.0.0.1:1/"))
		c := client(t)
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		for range 3 {
			if got := status(t, c, signed(t, s.URL(), body, time.Now())); got != 302 {
				t.Errorf("status %d", got)
			}
		}
		remove()
		if got := status(t, c, signed(t, s.URL(), body, time.Now())); got != 204 {
			t.Errorf("status %d", got)
		}
	})
	t.Run("a late answer is accepted", func(t *testing.T) {
		s := start(t, webhookreceiver.Config{})
		s.Inject(1, httpfault.Delay(time.Millisecond))
		if got := status(t, client(t), signed(t, s.URL(), body, time.Now())); got != 204 || !s.All()[0].Accepted {
			t.Errorf("status %d, %+v", got, s.All())
		}
	})
	t.Run("deliveries without an answer are stored", func(t *testing.T) {
		s := start(t, webhookreceiver.Config{})
		c := client(t)
		for n, f := range []httpfault.Fault{httpfault.Hang(), httpfault.HangUp(), httpfault.Reset()} {
			s.Inject(1, f)
			ctx, giveUp := context.WithTimeout(t.Context(), time.Minute)
			stored := make(chan error, 1)
			go func() {
				_, err := s.Wait(ctx, func(d webhookreceiver.Delivery) bool { return d.Attempt == n+1 })
				time.AfterFunc(200*time.Millisecond, giveUp)
				stored <- err
			}()
			if resp, err := c.Do(signed(t, s.URL(), body, time.Now()).WithContext(ctx)); err == nil {
				resp.Body.Close()
				t.Errorf("answered %s", resp.Status)
			}
			if err := <-stored; err != nil {
				t.Error(err)
			}
		}
		if got := s.All(); len(got) != 3 || got[2].Accepted {
			t.Errorf("%+v", got)
		}
	})
}

func TestWaitFindsPastAndFutureDeliveries(t *testing.T) {
	s := start(t, webhookreceiver.Config{})
	blackout := func(d webhookreceiver.Delivery) bool { return d.EventType == "alert.blackout" }
	t.Run("the error of a timeout lists the deliveries", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s.Wait(ctx, blackout); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "nothing") {
			t.Errorf("%v", err)
		}
	})
	t.Run("a delivery is found before and after it arrives", func(t *testing.T) {
		r, c := signed(t, s.URL(), body, time.Now()), client(t)
		sent := make(chan error, 1)
		go func() {
			resp, err := c.Do(r)
			if err == nil {
				err = resp.Body.Close()
			}
			sent <- err
		}()
		for range 2 {
			if d, err := s.Wait(t.Context(), blackout); err != nil || d.EventID != eventID {
				t.Errorf("%+v, %v", d, err)
			}
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
}

func TestAReceiverServesHTTPS(t *testing.T) {
	donor := httptest.NewUnstartedServer(nil)
	donor.StartTLS()
	certificate, roots := donor.TLS.Certificates[0], donor.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	donor.Close()
	s := start(t, webhookreceiver.Config{Certificate: &certificate})
	c := client(t)
	c.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	if got := status(t, c, signed(t, s.URL(), body, time.Now())); got != 204 || !strings.HasPrefix(s.URL(), "https://") {
		t.Errorf("status %d at %s", got, s.URL())
	}
}

func TestEachEventIsDescribedInOneLine(t *testing.T) {
	clock := func(s string) string {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return at.Local().Format(time.TimeOnly)
	}
	at := "2024-01-15T20:14:55+09:00"
	for eventType, c := range map[string][2]string{
		"stream.started":           {`{"started_at":"` + at + `","delay_sec":65}`, "live since " + clock(at) + ", 65 s late"},
		"stream.ended":             {`{"ended_at":"` + at + `","reason":"endlist","duration_sec":300}`, "ended at " + clock(at) + " after 300 s (endlist)"},
		"stream.delayed":           {`{"scheduled_start_time":"` + at + `","delay_sec":320}`, "was to start at " + clock(at) + ", 320 s ago"},
		"alert.silence":            {`{"started_at":"` + at + `","duration_sec":35}`, "silent since " + clock(at) + " for 35 s"},
		"alert.blackout_recovered": {`{"recovered_at":"` + at + `","total_duration_sec":45}`, "picture back at " + clock(at) + ", black for 45 s"},
		"alert.silence_recovered":  {`{"recovered_at":"` + at + `","total_duration_sec":45}`, "sound back at " + clock(at) + ", silent for 45 s"},
		"alert.segment_error":      {`{"started_at":"` + at + `","duration_sec":60,"failure":"stalled","last_error":"no new segment"}`, "no media since " + clock(at) + " for 60 s (stalled: no new segment)"},
		"monitor.error":            {`{"reason":"blind","error_details":"not a bot"}`, "blind: not a bot"},
	} {
		t.Run(eventType, func(t *testing.T) {
			var out bytes.Buffer
			s := start(t, webhookreceiver.Config{Out: &out})
			body := `{"event_id":"` + eventID + `","event_type":"` + eventType + `","timestamp":"` + at + `","data":` + c[0] + `}`
			r := signed(t, s.URL(), body, time.Now())
			r.Header.Set("X-Event-Type", eventType)
			if got := status(t, client(t), r); got != 204 || !strings.HasSuffix(out.String(), "  verified  "+c[1]+"\n") {
				t.Errorf("status %d, %s", got, out.String())
			}
		})
	}
}
