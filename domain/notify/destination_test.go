package notify_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestEveryChannelAcceptsItsFieldsAndRefusesOthers(t *testing.T) {
	for _, c := range notify.Channels() {
		d := destination("a", c.Kind)
		expectWrong(t, d.Check())
		d.Config["colour"], d.Secrets["pin"] = "red", "1234"
		expectWrong(t, d.Check(), "config.colour", "secrets.pin")

		d = destination("a", c.Kind)
		clear(d.Config)
		clear(d.Secrets)
		if problems := d.Check(); len(problems) == 0 {
			t.Errorf("%s without any field is accepted", c.Kind)
		}
	}
}

func TestEachFieldOfEachKindHasWordsInBothLanguagesAndAnExampleThatIsAccepted(t *testing.T) {
	for _, c := range notify.Channels() {
		for _, f := range c.Fields {
			for _, of := range []struct {
				words notify.FieldPhrases
				stop  string
			}{{f.Words.English, "."}, {f.Words.Japanese, "。"}} {
				if of.words.Label == "" || of.words.Label == f.Name || !strings.HasSuffix(of.words.Hint, of.stop) || strings.Contains(of.words.Hint, "_") {
					t.Errorf("%s.%s has the words %+v", c.Kind, f.Name, of.words)
				}
			}
			d, field := destination("a", c.Kind), "config."+f.Name
			if d.Config[f.Name] = f.Example; f.Secret {
				delete(d.Config, f.Name)
				d.Secrets[f.Name], field = f.Example, "secrets."+f.Name
			}
			for _, err := range d.Check() {
				if monitor.FieldOf(err) == field && !strings.Contains(err.Error(), " needed") { // together with others
					t.Errorf("the example of %s.%s: %v", c.Kind, f.Name, err)
				}
			}
			if u, err := url.Parse(f.Example); f.Example == "" || err == nil && u.Hostname() != "" && !strings.HasSuffix(u.Hostname(), "example.com") {
				t.Errorf("the example of %s.%s is %q", c.Kind, f.Name, f.Example)
			}
		}
	}
}

func TestAllWrongFieldsAreRefusedAtOnce(t *testing.T) {
	d := notify.Destination{ID: "a", Fallback: "a", Language: "de", Kind: "pigeon"}
	expectWrong(t, d.Check(), "name", "language", "fallback", "kind")

	d = destination("a", notify.Email)
	d.Config["port"], d.Config["security"], d.Config["from"], d.Config["to"] = "70000", "none", "team", "a@example.com, b"
	d.Config["username"] = "team"
	expectWrong(t, d.Check(), "config.port", "config.security", "config.from", "config.to", "config.username")

	d = destination("a", notify.Discord)
	d.Config["webhook_url"], d.Secrets["webhook_url"] = "https://example.com", "ftp://example.com"
	expectWrong(t, d.Check(), "secrets.webhook_url", "config.webhook_url")
}

func TestNoRefusalHasASecret(t *testing.T) {
	const secret = "hunter2"
	for _, value := range []string{secret, "https://" + secret + "@example.com", "http://example.com:99999/" + secret, secret + "\n", " " + secret, strings.Repeat(secret, 400)} {
		for _, c := range notify.Channels() {
			d := destination("a", c.Kind)
			for _, f := range c.Fields {
				if f.Secret {
					d.Secrets[f.Name] = value
				}
			}
			for _, err := range d.Check() {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%s: %v", c.Kind, err)
				}
			}
		}
	}
}

func TestURLsHaveAHostAndNoUser(t *testing.T) {
	for value, ok := range map[string]bool{
		"https://example.com/a?b=c":       true,
		"http://127.0.0.1:8080/":          true, // the guard decides about networks
		"example.com/hook":                false,
		"https:///hook":                   false,
		"https:example.com":               false,
		"https://user:pw@example.com":     false,
		"https://example.com/#part":       false,
		"https://example.com:0":           false,
		"javascript:alert(1)//https://a/": false,
	} {
		d := destination("a", notify.Webhook)
		d.Secrets["url"] = value
		if got := len(d.Check()) == 0; got != ok {
			t.Errorf("%q: accepted %v, want %v", value, got, ok)
		}
	}
}

func TestSlackEditsOnlyWithABot(t *testing.T) {
	bot := destination("a", notify.Slack)
	if !bot.Edits() || bot.PictureWait() != 0 {
		t.Error("a bot does not edit, or waits for a picture")
	}
	webhook := bot
	webhook.Config, webhook.Secrets = nil, map[string]string{"webhook_url": "https://hooks.slack.com/services/x"}
	expectWrong(t, webhook.Check())
	if webhook.Edits() || webhook.PictureWait() != 3*time.Second {
		t.Error("a webhook edits, or does not wait for a picture")
	}
	for _, secrets := range []map[string]string{{}, {"bot_token": "x", "webhook_url": "https://a"}} {
		both := bot
		both.Secrets = secrets
		expectWrong(t, both.Check(), "secrets.bot_token")
	}
}

// The secrets of a server must not reach another one (Destination.MovedFrom).
func TestAURLThatIsNoSecretNamesTheServer(t *testing.T) {
	for _, c := range notify.Channels() {
		hasSecrets := slices.ContainsFunc(c.Fields, func(f notify.Field) bool { return f.Secret })
		for _, f := range c.Fields {
			if hasSecrets && !f.Secret && strings.HasSuffix(f.Name, "url") && !f.NamesServer {
				t.Errorf("%s: %s leads the secrets to a server: want NamesServer", c.Kind, f.Name)
			}
		}
	}
}

func TestFiveFailuresInARowOpenTheCircuit(t *testing.T) {
	h, now := notify.Health{}, eight
	for n, pause := range []int{0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60} {
		h = h.After(now, notify.Retry, 0, 0)
		want := time.Time{}
		if pause > 0 {
			want = now.Add(time.Duration(pause) * time.Second)
		}
		if !h.CircuitOpenUntil.Equal(want) || h.CircuitOpen() != (pause > 0) || !h.FailingSince.Equal(eight) {
			t.Errorf("after %d failures: %+v, want until %v", n+1, h, want)
		}
		now = now.Add(time.Hour)
	}
	for _, class := range []notify.FailureClass{notify.NoFailure, notify.Rejected} {
		if got := h.After(now, class, 0, 0); got != (notify.Health{}) {
			t.Errorf("after %q: %+v", class, got)
		}
	}
}

// Nothing else that was under way shortens a pause that the receiver asked for.
func TestAPauseIsGrantedAndOnly429IsNoFailure(t *testing.T) {
	for _, c := range []struct {
		status     int
		retryAfter time.Duration
		want       time.Duration
		failures   int
	}{
		{429, 30 * time.Second, 30 * time.Second, 0}, {429, 0, 10 * time.Second, 0}, {429, 24 * time.Hour, time.Hour, 0},
		{503, time.Minute, time.Minute, 1}, {503, 0, 0, 1}, {0, 0, 0, 1},
	} {
		want := notify.Health{Failures: c.failures}
		if c.failures > 0 {
			want.FailingSince = eight
		}
		if c.want > 0 {
			want.CircuitOpenUntil = eight.Add(c.want)
		}
		if got := (notify.Health{}).After(eight, notify.Retry, c.status, c.retryAfter); got != want {
			t.Errorf("%d, %v: %+v, want %+v", c.status, c.retryAfter, got, want)
		}
	}
	paused := notify.Health{CircuitOpenUntil: eight.Add(time.Hour)}
	failing := notify.Health{Failures: 700, FailingSince: eight.Add(-6 * 24 * time.Hour), CircuitOpenUntil: eight.Add(time.Minute)}
	h := failing.After(eight, notify.Retry, 429, time.Hour)
	if h.FailedForDays(eight) || h != paused {
		t.Errorf("is %+v", h)
	}
	if !failing.After(eight, notify.Retry, 503, time.Hour).FailedForDays(eight) {
		t.Error("a receiver that has answered 503 with Retry-After for six days does not count as failing")
	}
	for _, class := range []notify.FailureClass{notify.NoFailure, notify.Rejected} {
		if got := h.After(eight.Add(time.Second), class, 200, 0); got != paused {
			t.Errorf("after %q: %+v", class, got)
		}
	}
	if got := h.After(eight.Add(time.Second), notify.Retry, 429, 5*time.Second); got != paused {
		t.Errorf("a shorter pause makes it %+v", got)
	}
	if got := h.After(eight.Add(time.Second), notify.Retry, 503, 0); got.Failures != 1 || !got.CircuitOpenUntil.Equal(paused.CircuitOpenUntil) {
		t.Errorf("after a failure: %+v", got)
	}
	if got := h.After(eight.Add(time.Hour), notify.NoFailure, 200, 0); got != (notify.Health{}) {
		t.Errorf("after the pause: %+v", got)
	}
}

func TestFiveDaysOfFailuresDisable(t *testing.T) {
	for _, c := range []struct {
		name   string
		health notify.Health
		want   bool
	}{
		{"a moment too early", notify.Health{Failures: 700, FailingSince: eight.Add(-5*24*time.Hour + 1)}, false},
		{"five days", notify.Health{Failures: 700, FailingSince: eight.Add(-5 * 24 * time.Hour)}, true},
		{"few failures far apart, which say little", notify.Health{Failures: 4, FailingSince: eight.Add(-9 * 24 * time.Hour)}, false},
		{"healthy", notify.Health{}, false},
	} {
		if got := c.health.FailedForDays(eight); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestADestinationGetsWhatItsSlotsItsRateLimitAndItsCircuitAllow(t *testing.T) { // section 19.4
	for _, c := range []struct {
		name     string
		kind     notify.Kind
		health   notify.Health
		tokens   float64 // a second ago; below -9: never
		inFlight int
		free     int
		left     float64
		opens    time.Duration // 0: at once, or with a slot
	}{
		{"a webhook, which has no rate limit", notify.Webhook, notify.Health{}, -10, 0, 4, 0, 0},
		{"a webhook with three in flight", notify.Webhook, notify.Health{}, -10, 3, 1, 0, 0},
		{"a webhook with four in flight", notify.Webhook, notify.Health{}, -10, 4, 0, 0, 0},
		{"more in flight than there may be", notify.Webhook, notify.Health{}, -10, 9, 0, 0, 0},
		{"a channel that has got nothing yet", notify.Discord, notify.Health{}, -10, 0, 4, 5, 0},
		{"a token for each interval", notify.Discord, notify.Health{}, 0, 0, 2, 2.5, 0},
		{"no more than the burst", notify.Discord, notify.Health{}, 4, 0, 4, 5, 0},
		{"a token that is missing", notify.Discord, notify.Health{}, -2, 0, 0, 0.5, 200 * time.Millisecond},
		{"a message that took two tokens", notify.Slack, notify.Health{}, -1, 0, 0, 0, time.Second},
		{"a slot and a token that are missing", notify.Slack, notify.Health{}, -1, 4, 0, 0, time.Second},
		{"four failures in a row", notify.Webhook, notify.Health{Failures: 4}, -10, 0, 4, 0, 0},
		{"an open circuit after its pause", notify.Webhook, notify.Health{Failures: 5, CircuitOpenUntil: eight}, -10, 0, 1, 0, 0},
		{"its one attempt", notify.Webhook, notify.Health{Failures: 5, CircuitOpenUntil: eight}, -10, 1, 0, 0, 0},
		{"an open circuit", notify.Webhook, notify.Health{Failures: 5, CircuitOpenUntil: at(7)}, -10, 0, 0, 0, 7 * time.Second},
		{"a pause that a receiver has asked for", notify.Discord, notify.Health{CircuitOpenUntil: at(7)}, -10, 0, 0, 5, 7 * time.Second},
		{"a pause shorter than a missing token", notify.Slack, notify.Health{CircuitOpenUntil: at(0.5)}, -1, 0, 0, 0, time.Second},
	} {
		channel, _ := notify.ChannelOf(c.kind)
		var before notify.Allowance
		if c.tokens > -9 {
			before = notify.Allowance{Tokens: c.tokens, TokensAt: at(-1)}
		}
		free, left, opensAt := channel.Allowed(eight, c.health, before, c.inFlight)
		want := time.Time{}
		if c.opens > 0 {
			want = eight.Add(c.opens)
		}
		if free != c.free || left != (notify.Allowance{Tokens: c.left, TokensAt: eight}) || !opensAt.Equal(want) {
			t.Errorf("%s: %d with %+v left, opens at %v; want %d with %v left, at %v", c.name, free, left, opensAt, c.free, c.left, want)
		}
		if !opensAt.IsZero() && c.health.Failures == 0 && c.inFlight == 0 {
			if free, _, again := channel.Allowed(opensAt, c.health, left, 0); free < 1 || !again.IsZero() {
				t.Errorf("%s: when it opens, %d are free, and it opens at %v", c.name, free, again)
			}
		}
	}
}
