package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/webhook"
	"github.com/stream-monitor/stream-monitor/application/opinions"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
)

func question() opinions.Question {
	return opinions.Question{
		EventID: eventID, EventType: "alert.blackout", IncidentID: "i", Condition: "black", Event: []byte(body), AskedAt: time.Unix(1700000000, 0),
		Pictures: []evidence.Picture{
			{File: evidence.File{Variant: evidence.Before, Width: 640, Height: 360}, Bytes: []byte("before")},
			{File: evidence.File{Variant: evidence.Level}, Bytes: []byte("level")},
		},
	}
}

func ask(t *testing.T, url string) incident.Opinion {
	t.Helper()
	a := webhook.NewAdviser(url, keys(t, newKey), local(t), webhook.Config{Timeout: shortTimeout})
	t.Cleanup(a.Close)
	return a.Ask(t.Context(), question())
}

func TestAQuestionHasTheAlertAndItsPicturesAndIsSigned(t *testing.T) { // section 19.9
	var parts []string
	receiver := serve(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte(newKey))
		fmt.Fprintf(mac, "%s.%s", r.Header.Get("X-Timestamp"), raw)
		if r.Header.Get("X-Signature-256") != "sha256="+hex.EncodeToString(mac.Sum(nil)) || r.Header.Get("X-Event-Id") != eventID || r.Header.Get("X-Event-Type") != "alert.blackout" {
			t.Errorf("the headers are %v", r.Header)
		}
		_, form, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		reader := multipart.NewReader(strings.NewReader(string(raw)), form["boundary"])
		for {
			p, err := reader.NextPart()
			if err != nil {
				break
			}
			content, _ := io.ReadAll(p)
			if p.FormName() != "alert" {
				parts = append(parts, fmt.Sprintf("%s %s %s", p.FormName(), p.Header.Get("Content-Type"), content))
				continue
			}
			var alert struct {
				Schema    int
				Condition string
				Event     map[string]any
				Pictures  []struct{ Name string }
			}
			if err := json.Unmarshal(content, &alert); err != nil || p.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %v", content, err)
			}
			parts = append(parts, fmt.Sprintf("%d %s %s %v", alert.Schema, alert.Condition, alert.Event["event_type"], alert.Pictures))
		}
		_, _ = io.WriteString(w, `{"opinion":"label","label":"end screen","confidence":0.9,"severity":0}`)
	})
	o := ask(t, receiver.URL)
	if want := []string{"1 black alert.blackout [{before} {level}]", "before image/jpeg before", "level image/png level"}; !slices.Equal(parts, want) {
		t.Errorf("the parts are %q, want %q", parts, want)
	}
	if o.Verdict != incident.OpinionLabel || o.Label != "end screen" {
		t.Errorf("the opinion is %+v", o)
	}
}

func TestAnEndpointThatMisbehavesHasNoOpinion(t *testing.T) { // section 19.9
	elsewhere := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		t.Error("a redirect was followed")
		_, _ = io.WriteString(w, `{"opinion":"drop"}`)
	})
	const drop = `{"opinion":"drop"}`
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		reason string
	}{
		"409":       {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, drop, http.StatusConflict) }, "does not know this version"},
		"429":       {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, drop, http.StatusTooManyRequests) }, "busy"},
		"HTML":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>drop</html>") }, "no JSON object"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }, "status 302"},
		"hangs":     {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer within 300ms"},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			for range 1000 {
				if _, err := io.WriteString(w, strings.Repeat(" ", 64<<10)); err != nil {
					return
				}
			}
			_, _ = io.WriteString(w, drop)
		}, "no JSON object"},
		"slow": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, drop[:5])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "no JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			receiver := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // only then is the end of the connection seen
				c.answer(w, r)
			})
			if o := ask(t, receiver.URL); o.Verdict != incident.OpinionUnknown || !strings.Contains(o.Reason, c.reason) {
				t.Errorf("the opinion is %+v, want unknown: %s", o, c.reason)
			}
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestASecondAnswerIsNoneToTheNextQuestion(t *testing.T) { // section 19.9
	asked := map[string]bool{} // by connection
	receiver := serve(t, func(w http.ResponseWriter, r *http.Request) {
		opinion := map[bool]string{false: "keep", true: "drop"}[asked[r.RemoteAddr]] // an answer that came late would be read now
		asked[r.RemoteAddr] = true
		_, _ = fmt.Fprintf(w, `{"opinion":%q}`, opinion)
	})
	a := webhook.NewAdviser(receiver.URL, keys(t, newKey), local(t), webhook.Config{})
	defer a.Close()
	for range 2 {
		if o := a.Ask(t.Context(), question()); o.Verdict != incident.OpinionKeep {
			t.Errorf("the opinion is %+v", o)
		}
	}
}

func TestAnEndpointInAPrivateNetworkIsAskedOnlyIfThatIsAllowed(t *testing.T) { // decision A2
	receiver := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	a := webhook.NewAdviser(receiver.URL, keys(t, newKey), webhook.NewGuard(nil, nil), webhook.Config{})
	defer a.Close()
	if o := a.Ask(t.Context(), question()); o.Verdict != incident.OpinionUnknown || !strings.Contains(o.Reason, "CALLBACK_ALLOWED_NETWORKS") {
		t.Errorf("the opinion is %+v", o)
	}
}
