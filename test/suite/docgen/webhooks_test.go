package docgen_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

const document = "../../../docs/webhooks.md"

//go:embed webhooks.md.tmpl
var text string

//go:embed verify.py
var python string

//go:embed verify.go
var golang string

// headers explains every header.
var headers = []struct{ Name, Says string }{
	{"Content-Type", "always `application/json`"},
	{"User-Agent", "`stream-monitor/` and its version"},
	{"X-Event-Id", "`event_id` of the body"},
	{"X-Event-Type", "`event_type` of the body"},
	{"X-Timestamp", "when this attempt was signed, in seconds since 1970"},
	{"X-Signature-256", "`sha256=` and the HMAC-SHA256 of `{X-Timestamp}.{body}`, in hexadecimal"},
	{"Webhook-Id", "the same as `X-Event-Id`, for Standard Webhooks"},
	{"Webhook-Timestamp", "the same as `X-Timestamp`, for Standard Webhooks"},
	{"Webhook-Signature", "`v1,` and the HMAC-SHA256 of `{Webhook-Id}.{Webhook-Timestamp}.{body}`, in base64"},
}

// reasons explains every reason of a monitor.error that is sent.
var reasons = []struct{ Name, Says string }{
	{event.ReasonVideoUnavailable, "the video was removed, or never existed"},
	{event.ReasonVideoPrivate, "the video is private"},
	{event.ReasonRegionLocked, "it cannot be seen from where the watchdog runs"},
	{event.ReasonAgeRestricted, "it needs an adult who is signed in"},
	{event.ReasonMembersOnly, "it needs a membership"},
	{event.ReasonAccessDenied, "the own server of the stream refuses its credentials"},
	{event.ReasonNotALiveStream, "the video is not a live stream"},
	{event.ReasonReservationExpired, "it never went live until `scheduled_end_time` and the tolerance after it"},
	{event.ReasonBlind, "neither state nor media can be learned; the monitor goes on"},
	{event.ReasonWorkerLost, "its worker ended, was ended, or fell silent, and others in its place did no better (or `MISSING_WORKER=error`)"},
	{event.ReasonLaunchFailed, "no worker could be started for it"},
	{event.ReasonMismatch, "a gateway found that its worker does not run, and the policy is `MISSING_WORKER=error`"},
	{event.ReasonReconcileTimeout, "a starting gateway could not find out in time whether its worker runs; the monitor goes on"},
}

func TestThePageShowsWhatIsSent(t *testing.T) {
	arrived := deliveries(t)
	shown := arrived["alert.blackout"]
	stamp := shown.header.Get("X-Timestamp")
	mac := hmac.New(sha256.New, []byte(signingKey))
	mac.Write([]byte(stamp + "."))
	mac.Write(shown.body)

	used := map[string]bool{}
	page, err := template.New("webhooks.md").Funcs(template.FuncMap{
		"anchor": func(t event.Type) string { return strings.ReplaceAll(string(t), ".", "") },
		"means": func(d detector.Detector) string {
			config := monitor.DefaultConfig()
			config.SwitchOn(d.Name)
			text := d.Words.English.Means
			for _, c := range d.Criteria {
				text = strings.ReplaceAll(text, "{"+c.Name+"}", detector.Format(c.ValueOf(config.Value)))
			}
			return text
		},
		"example": func(name string) (string, error) {
			d, found := arrived[name]
			if !found {
				return "", fmt.Errorf("nothing was sent for %q", name)
			}
			used[name] = true
			var indented bytes.Buffer
			err := json.Indent(&indented, d.body, "", "  ")
			return "```json\n" + indented.String() + "\n```", err
		},
	}).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var made bytes.Buffer
	if err := page.Execute(&made, map[string]any{
		"Key": signingKey, "Raw": shown.raw, "Body": string(shown.body), "Timestamp": stamp,
		"Digest": hex.EncodeToString(mac.Sum(nil)), "Secret": "whsec_" + base64.StdEncoding.EncodeToString([]byte(signingKey)), "Python": strings.TrimSpace(python), "Go": goExample(),
		"Headers": headers, "Reasons": reasons, "Types": append(event.Types(), "webhook.test"), "Detectors": detector.Optional(),
	}); err != nil {
		t.Fatal(err)
	}
	if missing := slices.DeleteFunc(slices.Sorted(maps.Keys(arrived)), func(name string) bool { return used[name] }); len(missing) > 0 {
		t.Errorf("the template shows no example of %s", missing)
	}

	if os.Getenv("WRITE_DOCS") != "" {
		if err := os.WriteFile(document, made.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(is, made.Bytes()) {
		t.Errorf("docs/webhooks.md is not what is sent (WRITE_DOCS=1 go test ./test/suite/docgen); the first difference:\n%s", difference(is, made.Bytes()))
	}
}

// goExample is the example of verification as the page shows it.
func goExample() string {
	_, function, _ := strings.Cut(golang, "func Verify")
	return "func verify" + strings.TrimSpace(function)
}

// TestEverythingSentIsExplained compares fields, headers and reasons with the text
// around the examples.
func TestEverythingSentIsExplained(t *testing.T) {
	page, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(page), "\n### ")[1:] {
		title, body, _ := strings.Cut(s, "\n")
		sections[title] = body
	}
	for name, d := range deliveries(t) {
		kind, _, _ := strings.Cut(name, ",")
		var body struct {
			Data map[string]any `json:"data"`
		}
		if err := json.Unmarshal(d.body, &body); err != nil {
			t.Fatal(err)
		}
		for _, field := range keys(body.Data) {
			if !strings.Contains(sections[kind], "`"+field+"`") {
				t.Errorf("%s: %s is not explained", name, field)
			}
		}
		for header := range d.header {
			if !slices.ContainsFunc(headers, func(h struct{ Name, Says string }) bool { return h.Name == header }) &&
				!slices.Contains([]string{"Content-Length"}, header) {
				t.Errorf("%s: the header %s is not explained", name, header)
			}
		}
	}
	source, err := os.ReadFile("../../../domain/event/data.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`\n\tReason\w+ += "(\w+)"`).FindAllSubmatch(source, -1)
	if len(found) < 10 {
		t.Fatalf("%d reasons in domain/event; the test looks for them in the wrong way", len(found))
	}
	for _, m := range found {
		reason := string(m[1])
		explained := slices.ContainsFunc(reasons, func(r struct{ Name, Says string }) bool { return r.Name == reason })
		if sent := reason != event.ReasonCallbackFailed; sent != explained {
			t.Errorf("the reason %s: explained %v, sent %v", reason, explained, sent)
		}
	}
}

// keys returns the names of the fields of an object, at every depth.
func keys(object map[string]any) (all []string) {
	for name, value := range object {
		all = append(all, name)
		if inner, is := value.(map[string]any); is {
			all = append(all, keys(inner)...)
		}
	}
	return all
}

// difference shows the first line that differs.
func difference(is, want []byte) string {
	a, b := strings.Split(string(is), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\nis   %s\nwant %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("it has %d lines, want %d", len(a), len(b))
}
