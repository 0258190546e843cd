package notify_test

import (
	"slices"
	"strings"
	"testing"
	"time"

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
		for _, f := range c.Fields {
			if f.Help == "" || !strings.HasSuffix(f.Help, ".") && !strings.HasSuffix(f.Help, ")") {
				t.Errorf("the help of %s.%s is %q, which is no sentence", c.Kind, f.Name, f.Help)
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
