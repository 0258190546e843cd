package destination_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery/destination"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestAMessageShowsThePresentSituation(t *testing.T) {
	scenario(t, "the first message says that it was opened, and nothing is due then", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(takes)
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(time.Second)
		h.expect("d1", "delivered", 1)
		m := c.sent("slack")[0].message
		if m.Kind != notify.Opened || !m.Push || m.ThreadID != "incident of d1" || m.Title != "🟡 MEDIUM｜Black video 1 min｜C" {
			t.Errorf("sent was %+v", m)
		}
		const text = "🟡 MEDIUM｜Black video 1 min｜C\nSince Dec 31 23:59:00 UTC, 1 min so far. The sound is fine.\n"
		if kept := o.find("d1").outcomes[0].Attempt.Exchange.Message; !strings.HasPrefix(kept, text) || strings.Contains(kept, "https://") {
			t.Errorf("kept is %q", kept)
		}
		if notified := o.find("d1").outcomes[0].Notified; notified == nil || !notified.Opened || notified.ProviderMessageID != "ref" {
			t.Errorf("it was notified of %+v", notified)
		}
	})

	scenario(t, "an edit with a push counts twice for the rate limit", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(func(context.Context, string, int) message.Result {
			return message.Result{Status: 200, Ref: "ref", EditedAndPushed: true}
		})
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(time.Second)
		if !o.find("d1").outcomes[0].EditedAndPushed {
			t.Error("the outbox does not know")
		}
	})

	scenario(t, "a delayed route is due later, and nothing is sent before", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(takes)
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack), func(i *destination.Incident) { i.Policy.Delay = 5 * time.Minute }))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(time.Second)
		h.expect("d1", "pending", 0)
		if first := o.find("d1").outcomes[0]; first.Attempt != nil || time.Until(first.DueAt) != 4*time.Minute-time.Second {
			t.Errorf("the outcome is %+v", first)
		}
		h.advance(4 * time.Minute)
		h.expect("d1", "delivered", 1)
	})

	scenario(t, "what needs no message is idle", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(takes)
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack), func(i *destination.Incident) { i.Policy.SilencedUntil = notify.Forever }))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(time.Second)
		h.expect("d1", "idle", 0)
	})

	scenario(t, "a message is repeated, each with an ID of its own", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(takes)
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack), func(i *destination.Incident) { i.Policy.Repeat = 15 * time.Minute }))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(31 * time.Minute)
		h.expect("d1", "pending", 3)
		var ids, kinds []string
		for _, s := range c.sent("slack") {
			ids, kinds = append(ids, s.message.ID), append(kinds, string(s.message.Kind))
		}
		if !slices.Equal(kinds, []string{"opened", "repeated", "repeated"}) {
			t.Errorf("sent were %q", kinds)
		}
		slices.Sort(ids)
		if len(slices.Compact(ids)) != 3 {
			t.Errorf("the IDs are %q", ids)
		}
	})

	scenario(t, "what changes while a message is sent makes another message at once", func(t *testing.T) {
		o := &fakeOutbox{recordDelay: 2 * time.Second} // so it is leased before the first is finished
		c := newChannel(func(ctx context.Context, to string, tried int) message.Result {
			time.Sleep(time.Millisecond) // the rounds of a thread do not begin at the same time
			if tried == 1 {
				o.change("d1", func(i *destination.Incident) {
					i.Situation.Open, i.Situation.ResolvedAt, i.Situation.Conditions = false, time.Now(), nil
				})
			}
			return takes(ctx, to, tried)
		})
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(5 * time.Second)
		h.expect("d1", "delivered", 2)
		if sent := c.sent("slack"); sent[len(sent)-1].message.Kind != notify.Recovered || sent[len(sent)-1].message.Ref != "ref" {
			t.Errorf("the last message is %+v", sent[len(sent)-1].message)
		}
	})
}

func TestMessagesAreDueByTheClockOfTheDatabase(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"the gateway is an hour behind": time.Hour, "the gateway is an hour ahead": -time.Hour} {
		scenario(t, name, func(t *testing.T) {
			o, c := &fakeOutbox{ahead: ahead}, newChannel(takes)
			o.add(aboutIncident("d1", newDestination("slack", notify.Slack), func(i *destination.Incident) {
				i.Situation.OpenedAt = time.Now().Add(ahead)
				i.Policy.Delay, i.Policy.Repeat = 5*time.Minute, 15*time.Minute
			}))
			h := start(t, o, c, nil)
			defer h.stop()
			h.advance(5*time.Minute - time.Second)
			h.expect("d1", "pending", 0)
			h.advance(2 * time.Second)
			h.expect("d1", "pending", 1)
			if d := o.find("d1").delivery; !d.Incident.Notified.PushedAt.Equal(d.Now) {
				t.Errorf("it was notified of %+v, at the database it was %v", d.Incident.Notified, d.Now)
			}
			h.advance(15*time.Minute - 2*time.Second)
			h.expect("d1", "pending", 1)
			h.advance(2 * time.Second)
			h.expect("d1", "pending", 2)
		})
	}
}

func TestAFailedMessageIsRetried(t *testing.T) {
	scenario(t, "about a storm with the same ID while its conditions change, which it does not name", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(failing(1, 500, notify.Retry))
		storm := &destination.Storm{ID: "storm", Storm: message.Storm{Streams: 3, Live: 3}, ThreadFacts: destination.ThreadFacts{
			Situation: notify.Situation{Open: true, Severity: 2, SeverityNow: 2, Conditions: []incident.Name{"silent"}, OpenedAt: time.Now().Add(-time.Minute)},
		}}
		o.add(destination.Delivery{ID: "s", Destination: newDestination("teams", notify.Teams), Storm: storm})
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(time.Second)
		o.set(func(*fakeOutbox) { storm.Situation.Conditions = []incident.Name{"black", "silent"} })
		h.advance(2 * time.Second)
		if sent := c.sent("teams"); len(sent) != 2 || sent[0].message.ID != sent[1].message.ID {
			t.Errorf("sent were %+v", sent)
		}
	})

	scenario(t, "by the schedule of messages, with the same ID", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(failing(3, 500, notify.Retry))
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(time.Minute)
		h.expect("d1", "delivered", 4)
		var at []time.Duration
		for _, s := range c.sent("slack") {
			at = append(at, s.at)
			if s.message.ID != c.sent("slack")[0].message.ID {
				t.Error("the ID has changed")
			}
		}
		if want := seconds(0, 2, 7, 22); !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
		if n := strings.Count(h.log.String(), "failed, will be retried"); n != 3 {
			t.Errorf("%d failures are logged, want 3:\n%s", n, h.log.String())
		}
	})

	scenario(t, "but not one that the channel rejects", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(failing(1, 400, notify.Rejected))
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(time.Hour)
		h.expect("d1", "failed", 1)
		if !strings.Contains(h.log.String(), "level=ERROR") || !strings.Contains(h.log.String(), "failed for good") {
			t.Errorf("the log does not say it:\n%s", h.log.String())
		}
	})

	scenario(t, "but an end that is rejected is sent once more in its shortest form", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(failing(1, 400, notify.Rejected))
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack), ended))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(time.Hour)
		h.expect("d1", "delivered", 2)
		first, again := c.sent("slack")[0].message, c.sent("slack")[1].message
		if first.Kind != notify.Recovered || len(first.Lines) == 0 || first.Stream.URL == "" {
			t.Errorf("the end is %+v", first)
		}
		if again.Title != "✅ RESOLVED｜Black video, 1 min｜C" || len(again.Lines) > 0 || again.Stream.URL != "" || again.Picture != nil || again.ID != first.ID {
			t.Errorf("the shortest form is %+v", again)
		}
		if notified := o.find("d1").outcomes[0].Notified; notified == nil || notified.Open {
			t.Errorf("it was notified of %+v", notified)
		}
	})

	scenario(t, "and is dead if that is rejected, too", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(failing(2, 400, notify.Rejected))
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack), ended))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(time.Hour)
		h.expect("d1", "failed", 2)
	})

	scenario(t, "and a destination that is gone is disabled", func(t *testing.T) {
		o, c := &fakeOutbox{disabled: "HTTP 410"}, newChannel(failing(1, 410, notify.Gone))
		o.add(aboutEvent("e1", newDestination("hook", notify.Webhook)))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(time.Hour)
		h.expect("e1", "failed", 1)
		if !o.find("e1").outcomes[0].DisableDestination || !strings.Contains(h.log.String(), `destination disabled`) || !strings.Contains(h.log.String(), `reason="HTTP 410"`) {
			t.Errorf("the log does not say it:\n%s", h.log.String())
		}
	})

	scenario(t, "also where the gateway has no sender for the kind", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(takes)
		o.add(aboutIncident("d1", newDestination("line", notify.LINE)))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(time.Second)
		h.expect("d1", "pending", 0)
		if e := o.find("d1").outcomes[0].Attempt.Error; !strings.Contains(e, "kind line") {
			t.Error(e)
		}
	})
}

func TestAWebhookOfADestinationHasItsKeysAndItsSequence(t *testing.T) {
	for name, c := range map[string]struct {
		former string
		until  time.Duration // by the clock of the database
		ahead  time.Duration // of that clock
		want   []string
	}{
		"one key":            {"", 0, 0, []string{secretKey}},
		"during a rotation":  {"former", time.Hour, 0, []string{secretKey, "former"}},
		"after the rotation": {"former", -time.Hour, 0, []string{secretKey}},
		"after it, by a gateway that is a day behind": {"former", -time.Hour, 24 * time.Hour, []string{secretKey}},
		"during it, by a gateway that is a day ahead": {"former", time.Hour, -24 * time.Hour, []string{secretKey, "former"}},
	} {
		scenario(t, name, func(t *testing.T) {
			o, channel := &fakeOutbox{ahead: c.ahead}, newChannel(takes)
			d := newDestination("hook", notify.Webhook)
			d.Secrets["previous_signing_key"], d.PreviousUntil = c.former, time.Now().Add(c.ahead+c.until)
			o.add(aboutEvent("e1", d))
			h := start(t, o, channel, func(c *destination.SenderConfig, _ *destination.Config) {
				c.Evidence = evidenceFunc(func(context.Context) (*event.Evidence, error) {
					return &event.Evidence{EvidenceID: "ev", ExpiresAt: time.Unix(0, 0)}, nil
				})
			})
			defer h.stop()
			h.advance(time.Second)
			h.expect("e1", "delivered", 1)
			s := channel.sent("e1")[0]
			const body = `{"event_id":"e1","sequence":7,"evidence":{"evidence_id":"ev","event_id":"","links":null,"expires_at":"1970-01-01T00:00:00Z"}}`
			if !slices.Equal(s.keys, c.want) || s.url != secretURL || string(s.event.Body) != body {
				t.Errorf("sent was %q to %s: %s", s.keys, s.url, s.event.Body)
			}
		})
	}
}

func TestADestinationThatHangsDelaysNoOther(t *testing.T) {
	for name, hanging := range map[string]int{"one with 128 deliveries": 1, "199 of them": 199} {
		scenario(t, name, func(t *testing.T) {
			o := &fakeOutbox{}
			c := newChannel(func(ctx context.Context, to string, tried int) message.Result {
				if to == "fine" {
					return takes(ctx, to, tried)
				}
				return waits(ctx, to, tried)
			})
			for n := range hanging {
				for k := range 128/hanging + 5 {
					o.add(aboutIncident(fmt.Sprintf("d%d-%d", n, k), newDestination(fmt.Sprintf("hangs %d", n), notify.Slack)))
				}
			}
			o.add(aboutIncident("last", newDestination("fine", notify.Slack)))
			h := start(t, o, c, nil)
			defer h.stop()
			h.advance(50 * time.Millisecond)
			h.expect("last", "delivered", 1)
			if n := len(c.sent("hangs 0")); n != destination.MaxPerDestination {
				t.Errorf("%d are in flight to one destination", n)
			}
		})
	}
}

func TestNoSecretOfADestinationIsLogged(t *testing.T) {
	scenario(t, "whatever happens", func(t *testing.T) {
		o, c := &fakeOutbox{disabled: "gone"}, newChannel(func(ctx context.Context, to string, tried int) message.Result {
			return map[string]func(context.Context, string, int) message.Result{
				"fine": takes, "refuses": failing(1, 500, notify.Retry), "rejects": failing(1, 400, notify.Rejected), "gone": failing(1, 410, notify.Gone), "e1": takes, "hangs": waits,
			}[to](ctx, to, tried)
		})
		for _, to := range []string{"fine", "refuses", "rejects", "gone", "hangs"} {
			o.add(aboutIncident("d "+to, newDestination(to, notify.Slack)))
		}
		o.add(aboutEvent("e1", newDestination("hook", notify.Webhook)))
		h := start(t, o, c, nil)
		h.advance(5 * time.Second)
		o.set(func(o *fakeOutbox) { o.recordFails = true })
		h.advance(time.Minute)
		h.stop()
		if log := h.log.String(); strings.Contains(log, "geheim") || strings.Count(log, "level=INFO msg=\"delivered to a destination\"") != 3 {
			t.Errorf("the log is\n%s", log)
		}
	})
}

func TestAMessageIsNotSentAgainUntilItsSuccessIsStored(t *testing.T) {
	scenario(t, "though it can be leased again", func(t *testing.T) {
		o, c := &fakeOutbox{recordFails: true}, newChannel(takes)
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(100 * time.Second)
		o.set(func(o *fakeOutbox) { o.recordFails = false })
		h.advance(10 * time.Second)
		h.expect("d1", "delivered", 1)
	})
}

func TestADeliveredMessageIsNotSentAgainAfterAnotherGatewayHasFailed(t *testing.T) {
	scenario(t, "before the success was stored", func(t *testing.T) {
		o, c := &fakeOutbox{recordFails: true}, newChannel(takes)
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)))
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(29 * time.Second)
		o.set(func(o *fakeOutbox) {
			o.threads[0].delivery.Attempts, o.threads[0].delivery.LeaseID = 1, "of another gateway"
		})
		h.advance(20 * time.Second)
		o.set(func(o *fakeOutbox) { o.recordFails = false })
		h.advance(10 * time.Second)
		h.expect("d1", "delivered", 1)
	})
}

func TestADeliveryThatIsCutShortDoesNotCount(t *testing.T) {
	scenario(t, "as an attempt", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(waits)
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)))
		h := start(t, o, c, func(_ *destination.SenderConfig, cfg *destination.Config) { cfg.GracePeriod = 2 * time.Second })
		h.advance(time.Second)
		asked := time.Now()
		h.stop()
		if took := time.Since(asked); took != 2*time.Second {
			t.Errorf("stopping took %v, want 2s", took)
		}
		if r := o.find("d1"); r.state != "pending" || len(r.outcomes) != 0 {
			t.Errorf("left as %s with %d outcomes", r.state, len(r.outcomes))
		}
	})
}

func TestAMessageShowsThePictureWhereItIsOfUse(t *testing.T) {
	withPicture := func(i *destination.Incident) {
		i.Incident.Picture = &incident.Picture{EvidenceID: "ev", Variant: "onset"}
		i.Situation.HasPicture = true
	}
	acknowledged := func(i *destination.Incident) {
		withPicture(i)
		i.Notified = i.Notified.After(i.Situation, notify.NextMessage{Kind: notify.Opened, Push: true}, time.Now(), "")
		i.Situation.AcknowledgedBy, i.Situation.AcknowledgedSeverity = "A", 1
	}
	edited := func(i *destination.Incident) { acknowledged(i); i.Policy.Edits = true }
	for name, c := range map[string]struct {
		change func(*destination.Incident)
		err    error
		reads  int
		shown  bool
	}{
		"a first message":                      {withPicture, nil, 1, true},
		"one whose picture cannot be read":     {withPicture, errPicture, 1, false},
		"an acknowledgement":                   {acknowledged, nil, 0, false},
		"an acknowledgement in edited message": {edited, nil, 1, true},
	} {
		scenario(t, name, func(t *testing.T) {
			o, channel, p := &fakeOutbox{}, newChannel(takes), &pictures{err: c.err}
			o.add(aboutIncident("d1", newDestination("slack", notify.Slack), c.change))
			h := start(t, o, channel, func(c *destination.SenderConfig, _ *destination.Config) { c.Pictures = p })
			defer h.stop()
			h.advance(time.Second)
			h.expect("d1", "delivered", 1)
			if shown := channel.sent("slack")[0].message.Picture; (shown != nil) != c.shown || p.reads != c.reads {
				t.Errorf("after %d reads the picture is %+v", p.reads, shown)
			}
		})
	}
}

func TestStormsAndNoticesAreSent(t *testing.T) {
	scenario(t, "as messages of their own", func(t *testing.T) {
		o, c := &fakeOutbox{}, newChannel(takes)
		opened := time.Now().Add(-time.Minute)
		o.add(destination.Delivery{ID: "s", Destination: newDestination("storm", notify.Teams), Storm: &destination.Storm{
			ID: "storm", Storm: message.Storm{Streams: 37, Live: 180},
			ThreadFacts: destination.ThreadFacts{Situation: notify.Situation{Open: true, Severity: 3, SeverityNow: 3, Conditions: []incident.Name{"black"}, OpenedAt: opened}},
		}})
		o.add(destination.Delivery{ID: "n", Destination: newDestination("notice", notify.Teams), Notice: &message.Notice{Destination: "Ops", Cause: message.Gone, At: opened}})
		h := start(t, o, c, nil)
		defer h.stop()
		h.advance(time.Second)
		for to, want := range map[string]string{
			"storm":  "🔴 CRITICAL｜37 of 180 streams: Black video, 1 min",
			"notice": "⚠️ NOT DELIVERED｜Destination Ops is disabled",
		} {
			if sent := c.sent(to); len(sent) != 1 || sent[0].message.Title != want || !sent[0].message.Push {
				t.Errorf("%s: sent were %+v", to, sent)
			}
		}
	})
}

func TestAnExampleIsSentAsItWouldBe(t *testing.T) {
	scenario(t, "to people and to systems", func(t *testing.T) {
		c := newChannel(takes)
		renderer, err := message.Load(message.Config{Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		s := destination.NewSender(destination.SenderConfig{Webhooks: c, Messages: map[notify.Kind]message.Sender{notify.Slack: c}, Renderer: renderer, Zone: time.UTC})
		if r := s.SendExample(t.Context(), newDestination("slack", notify.Slack), notify.Recovered); r.Class != notify.NoFailure {
			t.Errorf("the result is %+v", r)
		}
		if m := c.sent("slack")[0].message; m.Title != "TEST｜✅ RESOLVED｜Black video, 4 min 12 s｜007 Example Channel" {
			t.Error(m.Title)
		}
		if r := s.SendExample(t.Context(), newDestination("hook", notify.Webhook), notify.Opened); r.Class != notify.NoFailure {
			t.Errorf("the result is %+v", r)
		}
		if s := c.calls[1]; s.event.EventType != "webhook.test" || s.url != secretURL || !strings.Contains(string(s.event.Body), s.event.EventID) {
			t.Errorf("the test event is %+v", s.event)
		}
	})
}

func TestAConfigurationOutOfRangeIsRefused(t *testing.T) {
	for name, cfg := range map[string]destination.Config{"no slots": {MaxInFlight: -1}, "a negative grace period": {GracePeriod: -1}} {
		if _, err := destination.New(&fakeOutbox{}, destination.NewSender(destination.SenderConfig{}), nil, cfg); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
