package acceptance_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/discord"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/line"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/ntfy"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/pagerduty"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/slack"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/smtp"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/teams"
	"github.com/stream-monitor/stream-monitor/test/fake/channel/telegram"
	"github.com/stream-monitor/stream-monitor/test/harness/scenario"
	"github.com/stream-monitor/stream-monitor/test/harness/system"
)

// told is a destination of messages that people read, with the fake behind it.
type told struct {
	name     string // of the destination
	kind     string
	language string // en or ja
	config   map[string]any
	secrets  map[string]any
	messages func() []channel.Message

	id string // of the destination, once it is created
}

// startChannels starts a fake of every channel. Languages alternate. A gateway needs env
// to trust the mail server.
func startChannels(t *testing.T) (all []*told, env []string) {
	t.Helper()
	add := func(name, kind string, s *channel.Server, config, secrets map[string]any) {
		t.Cleanup(s.Close)
		all = append(all, &told{name: name, kind: kind, config: config, secrets: secrets, messages: s.Messages})
	}
	none := map[string]any{}
	bot := slack.New()
	add("slack", "slack", bot.Server, map[string]any{"channel": slack.Channel, "api_url": bot.APIURL()}, map[string]any{"bot_token": slack.Token})
	hook := slack.New()
	add("slack webhook", "slack", hook.Server, none, map[string]any{"webhook_url": hook.WebhookURL()})
	d := discord.New()
	add("discord", "discord", d.Server, none, map[string]any{"webhook_url": d.WebhookURL()})
	w := teams.New()
	add("teams", "teams", w.Server, none, map[string]any{"workflow_url": w.WorkflowURL()})
	tg := telegram.New()
	add("telegram", "telegram", tg.Server, map[string]any{"chat_id": telegram.ChatID, "api_url": tg.URL}, map[string]any{"bot_token": telegram.Token})
	l := line.New()
	add("line", "line", l.Server, map[string]any{"to": line.Group, "api_url": l.URL}, map[string]any{"channel_access_token": line.Token})
	pd := pagerduty.New()
	add("pagerduty", "pagerduty", pd.Server, map[string]any{"api_url": pd.URL}, map[string]any{"routing_key": pagerduty.RoutingKey})
	n := ntfy.New()
	add("ntfy", "ntfy", n.Server, map[string]any{"server_url": n.URL, "topic": ntfy.Topic}, map[string]any{"token": ntfy.Token})

	mail, err := smtp.New(false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mail.Close)
	all = append(all, &told{
		name: "email", kind: "email", messages: mail.Messages, secrets: map[string]any{"password": smtp.Password},
		config: map[string]any{"host": "127.0.0.1", "port": mail.Port, "username": smtp.Username, "from": smtp.From, "to": smtp.To},
	})
	trusted := t.TempDir()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: mail.Certificate.Raw})
	if err := os.WriteFile(filepath.Join(trusted, "mail.pem"), certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	for n, c := range all {
		c.language = []string{"en", "ja"}[n%2]
	}
	return all, []string{"SSL_CERT_DIR=" + trusted}
}

// createDestination creates the destination, and checks that no answer has its secrets.
func (c *told) createDestination(t *testing.T, s *system.Service) {
	t.Helper()
	c.id = create(t, s, "/api/v1/destinations", "destination_id", map[string]any{
		"name": c.name, "kind": c.kind, "language": c.language, "config": c.config, "secrets": c.secrets,
	})
	shown := fmt.Sprint(callOK(t, s, http.MethodGet, "/api/v1/destinations", nil))
	for name, secret := range c.secrets {
		if strings.Contains(shown, fmt.Sprint(secret)) {
			t.Errorf("the list of destinations shows %s of %s", name, c.name)
		}
	}
}

// words returns the text of the destination's language.
func (c *told) words(en, ja string) string {
	if c.language == "ja" {
		return ja
	}
	return en
}

// shows reports whether a message shows a text in the language of the destination, or an
// alert has a state.
func (c *told) shows(en, ja, state string) bool {
	return slices.ContainsFunc(c.messages(), func(m channel.Message) bool {
		return state != "" && m.State == state || strings.Contains(m.Text, c.words(en, ja))
	})
}

// waitAll waits until all destinations show a text, or the state of their alert.
func waitAll(t *testing.T, all []*told, within time.Duration, en, ja, state string) {
	t.Helper()
	var missing []string
	within += busyMachine
	for deadline := time.Now().Add(within); ; scenario.Sleep(t.Context(), 250*time.Millisecond) {
		missing = nil
		for _, c := range all {
			if !c.shows(en, ja, state) {
				missing = append(missing, fmt.Sprintf("%s has %v", c.name, c.messages()))
			}
		}
		if len(missing) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: everybody is told %q: %s", within, en, strings.Join(missing, "\n"))
		}
	}
}

// link returns the newest link with a text in the messages of the channel, as a path.
func (c *told) link(t *testing.T, text string) (path string) {
	t.Helper()
	for _, m := range c.messages() {
		for _, l := range m.Links {
			if l.Text == text {
				path = strings.TrimPrefix(l.URL, publicURL)
			}
		}
	}
	if !strings.HasPrefix(path, "/") {
		t.Fatalf("%s has no link %q below %s: %v", c.name, text, publicURL, c.messages())
	}
	return path
}
