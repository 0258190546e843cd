package delivery_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/delivery"
	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

func TestAMessageShowsThePresentSituation(t *testing.T) {
	scenario(t, "the first message says that it was opened, and nothing is due then", func(t *testing.T) {
		h := run(t, &fakeOutbox{}, accepts, aboutIncident("d1", newDestination("slack", notify.Slack)))
		h.advance(time.Second)
		h.expect("d1", "idle", 1)
		m := h.receiver.sent("slack")[0].message
		if m.Kind != notify.Opened || !m.Push || m.ThreadID != "incident of d1" || m.Title != "🟡 MEDIUM｜Black video 1 min｜C" {
			t.Errorf("sent was %+v", m)
		}
		first := h.outbox.find("d1").outcomes[0]
		if notified := first.Notified; notified == nil || !notified.Opened || notified.ProviderMessageID != "ref" {
			t.Errorf("it was notified of %+v", notified)
		}
		if first.EditedAndPushed {
			t.Error("it counts twice for the rate limit")
		}
	})

	scenario(t, "an edit with a push counts twice for the rate limit", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(func(context.Context, sending, int) message.Result {
			return message.Result{Attempt: event.Attempt{Status: 200}, Ref: "ref", EditedAndPushed: true}
		})
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)))
		h := start(t, o, r, nil)
		h.advance(time.Second)
		if !o.find("d1").outcomes[0].EditedAndPushed {
			t.Error("the outbox does not know")
		}
	})

	scenario(t, "a message is repeated, each with an ID of its own", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(accepts)
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)), notify.ThreadPolicy{Repeat: 15 * time.Minute})
		h := start(t, o, r, nil)
		h.advance(31 * time.Minute)
		h.expect("d1", "pending", 3)
		var ids, kinds []string
		for _, s := range r.sent("slack") {
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
		r := newReceiver(func(ctx context.Context, s sending, tried int) message.Result {
			time.Sleep(time.Millisecond) // the rounds of a thread do not begin at the same time
			if tried == 1 {
				o.change("d1", end)
			}
			return accepts(ctx, s, tried)
		})
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack)))
		h := start(t, o, r, nil)
		h.advance(5 * time.Second)
		h.expect("d1", "idle", 2)
		if last := r.sent("slack")[1].message; last.Kind != notify.Recovered || last.Ref != "ref" {
			t.Errorf("the last message is %+v", last)
		}
	})
}

func TestWhatADestinationWasNotifiedOfHasTimesOfTheDatabase(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"the gateway is an hour behind": time.Hour, "the gateway is an hour ahead": -time.Hour} {
		scenario(t, name, func(t *testing.T) {
			o, r := &fakeOutbox{ahead: ahead}, newReceiver(func(ctx context.Context, s sending, tried int) message.Result {
				time.Sleep(3 * time.Second)
				return failing(1, 500, notify.Retry)(ctx, s, tried)
			})
			o.add(aboutIncident("d1", newDestination("slack", notify.Slack), func(d *delivery.Delivery) { d.Incident.OpenedAt = time.Now().Add(ahead) }))
			h := start(t, o, r, nil)
			h.advance(10 * time.Second)
			if at := r.times("slack"); !slices.Equal(at, seconds(0, 5)) {
				t.Errorf("attempts at %v", at)
			}
			e := o.find("d1")
			if pushed := e.delivery.Notified.Sounds.Newest; time.Until(pushed) != ahead-2*time.Second {
				t.Errorf("the push is %v ahead of the process", time.Until(pushed))
			}
			if retryAt := e.outcomes[0].RetryAt; time.Until(retryAt) != -5*time.Second {
				t.Errorf("the retry was due in %v", time.Until(retryAt))
			}
		})
	}

	scenario(t, "and so has when an event began to fail", func(t *testing.T) {
		h := run(t, &fakeOutbox{ahead: time.Hour}, refuses, aboutEvent("e1", newDestination("hook", notify.Webhook)))
		h.advance(50 * time.Second)
		out := h.outbox.find("e1").outcomes
		if last := out[len(out)-1]; len(out) != 5 || !last.LeavesQueue || time.Until(last.NextAt) != 10*time.Second {
			t.Errorf("after %d attempts the next event is due in %v", len(out), time.Until(last.NextAt))
		}
	})
}

func TestAFailedMessageIsRetried(t *testing.T) {
	scenario(t, "about a storm with the same ID while its conditions change, which it does not name", func(t *testing.T) {
		h := run(t, &fakeOutbox{}, failing(1, 500, notify.Retry), aboutStorm("s", newDestination("teams", notify.Teams)))
		h.advance(time.Second)
		h.outbox.set(func(o *fakeOutbox) {
			h.outbox.entries[0].delivery.Message.Situation.Conditions = []incident.Name{"black", "silent"}
		})
		h.advance(2 * time.Second)
		if sent := h.receiver.sent("teams"); len(sent) != 2 || sent[0].message.ID != sent[1].message.ID {
			t.Errorf("sent were %+v", sent)
		}
	})

	scenario(t, "by the schedule of messages, with the same ID", func(t *testing.T) {
		h := run(t, &fakeOutbox{}, failing(3, 500, notify.Retry), aboutIncident("d1", newDestination("slack", notify.Slack)))
		h.advance(time.Minute)
		h.expect("d1", "idle", 4)
		for _, s := range h.receiver.sent("slack") {
			if s.message.ID != h.receiver.sent("slack")[0].message.ID {
				t.Error("the ID has changed")
			}
		}
		if got, want := h.receiver.times("slack"), seconds(0, 2, 7, 22); !slices.Equal(got, want) {
			t.Errorf("attempts at %v, want %v", got, want)
		}
		if n := strings.Count(h.log.String(), "failed, will be retried"); n != 3 {
			t.Errorf("%d failures are logged, want 3:\n%s", n, h.log.String())
		}
	})

	scenario(t, "until a day has passed since it was first due", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(refuses)
		for _, id := range []string{"old", "new"} {
			o.add(aboutIncident(id, newDestination(id, notify.Slack)))
		}
		o.entries[0].delivery.RoundBeganAt = time.Now().Add(-24 * time.Hour)
		h := start(t, o, r, nil)
		h.advance(time.Second)
		h.expect("old", "failed", 1)
		h.expect("new", "pending", 1)
	})

	scenario(t, "and one that got no answer may have been seen", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(failing(1, 0, notify.Retry))
		o.add(aboutIncident("d1", newDestination("slack", notify.Slack), ended, func(d *delivery.Delivery) {
			d.Notified = d.Notified.After(notify.SituationOf(d.Incident.Incident), notify.NextMessage{Kind: notify.Recovered}, time.Now(), "")
			d.Incident.State, d.Incident.SeverityNow, d.Incident.Reopened, d.Incident.ReopenedAt = incident.Open, 1, 1, time.Now()
			d.Incident.Conditions[0].EndedAt = time.Time{}
		}), notify.ThreadPolicy{Edits: true})
		h := start(t, o, r, nil)
		h.advance(time.Second)
		if out := o.find("d1").outcomes; len(out) != 1 || out[0].Notified == nil || !out[0].Notified.MaybeReopened {
			t.Errorf("the outcomes are %+v", out)
		}
	})

	scenario(t, "but not one that the channel rejects", func(t *testing.T) {
		h := run(t, &fakeOutbox{}, failing(1, 400, notify.Rejected), aboutIncident("d1", newDestination("slack", notify.Slack)))
		h.advance(time.Hour)
		h.expect("d1", "failed", 1)
		if !strings.Contains(h.log.String(), "level=ERROR") || !strings.Contains(h.log.String(), "failed for good") {
			t.Errorf("the log does not say it:\n%s", h.log.String())
		}
	})

	scenario(t, "but an end that is rejected is sent once more in its shortest form", func(t *testing.T) {
		h := run(t, &fakeOutbox{}, failing(1, 400, notify.Rejected), aboutIncident("d1", newDestination("slack", notify.Slack), ended))
		h.advance(time.Hour)
		h.expect("d1", "idle", 2)
		first, again := h.receiver.sent("slack")[0].message, h.receiver.sent("slack")[1].message
		if first.Kind != notify.Recovered || len(first.Lines) == 0 || first.Stream.URL == "" {
			t.Errorf("the end is %+v", first)
		}
		if again.Title != "✅ RESOLVED｜Black video, 1 min｜C" || len(again.Lines) > 0 || again.Stream.URL != "" || again.Picture != nil || again.ID != first.ID {
			t.Errorf("the shortest form is %+v", again)
		}
		if notified := h.outbox.find("d1").outcomes[0].Notified; notified == nil || notified.Open {
			t.Errorf("it was notified of %+v", notified)
		}
	})

	scenario(t, "and is dead if that is rejected, too", func(t *testing.T) {
		h := run(t, &fakeOutbox{}, failing(2, 400, notify.Rejected), aboutIncident("d1", newDestination("slack", notify.Slack), ended))
		h.advance(time.Hour)
		h.expect("d1", "failed", 2)
	})

	scenario(t, "and a destination that is gone is disabled", func(t *testing.T) {
		h := run(t, &fakeOutbox{disabled: "HTTP 410"}, failing(1, 410, notify.Gone), aboutEvent("e1", newDestination("hook", notify.Webhook)))
		h.advance(time.Hour)
		h.expect("e1", "failed", 1)
		if !h.outbox.find("e1").outcomes[0].DisableDestination || !strings.Contains(h.log.String(), `destination disabled`) || !strings.Contains(h.log.String(), `reason="HTTP 410"`) {
			t.Errorf("the log does not say it:\n%s", h.log.String())
		}
	})

	scenario(t, "also where the gateway has no sender for the kind", func(t *testing.T) {
		h := run(t, &fakeOutbox{}, accepts, aboutIncident("d1", newDestination("line", notify.LINE)))
		h.advance(time.Second)
		h.expect("d1", "pending", 0)
		if e := h.outbox.find("d1").outcomes[0].Error; !strings.Contains(e, "kind line") {
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
			o, r := &fakeOutbox{ahead: c.ahead}, newReceiver(accepts)
			d := newDestination("hook", notify.Webhook)
			d.Secrets["previous_signing_key"], d.PreviousUntil = c.former, time.Now().Add(c.ahead+c.until)
			o.add(aboutEvent("e1", d))
			h := start(t, o, r, func(c *delivery.SenderConfig, _ *delivery.Config) {
				c.Evidence = evidenceFunc(func(context.Context) (*event.Evidence, error) {
					return &event.Evidence{EvidenceID: "ev", ExpiresAt: time.Unix(0, 0)}, nil
				})
			})
			h.advance(time.Second)
			h.expect("e1", "delivered", 1)
			s := r.sent("e1")[0]
			const body = `{"event_id":"e1","sequence":7,"evidence":{"evidence_id":"ev","event_id":"","links":null,"expires_at":"1970-01-01T00:00:00Z"}}`
			if !slices.Equal(s.keys, c.want) || s.url != secretURL || string(s.event.Body) != body {
				t.Errorf("sent was %q to %s: %s", s.keys, s.url, s.event.Body)
			}
		})
	}
}

func TestEvidenceComesWithLaterAttempts(t *testing.T) { // section 16.2
	const plain, full = `{"event_id":"e"}`, `{"event_id":"e","evidence":{"evidence_id":"ev","event_id":"","links":null,"expires_at":"0001-01-01T00:00:00Z"}}`
	there := func(context.Context) (*event.Evidence, error) { return &event.Evidence{EvidenceID: "ev"}, nil }
	hangs := func(ctx context.Context) (*event.Evidence, error) { <-ctx.Done(); return nil, ctx.Err() }
	for _, c := range []struct {
		name string
		of   event.Type
		age  time.Duration
		find evidenceFunc
		want []string
		late time.Duration // of the first attempt
	}{
		{"a fresh alert is sent without it, its second attempt with it", event.Blackout, 0, there, []string{plain, full}, 0},
		{"an alert that has waited has it", event.Blackout, time.Minute, there, []string{full}, 0},
		{"blindness that has waited has it", event.MonitorError, time.Minute, there, []string{full}, 0},
		{"a recovery has it", event.BlackoutRecovered, 0, there, []string{full}, 0},
		{"another event never has it", event.StreamStarted, time.Minute, there, []string{plain, plain}, 0},
		{"none is there", event.Silence, time.Minute, func(context.Context) (*event.Evidence, error) { return nil, nil }, []string{plain}, 0},
		{"it cannot be read", event.SegmentError, time.Minute, func(context.Context) (*event.Evidence, error) { return nil, errors.New("no database") }, []string{plain}, 0},
		{"a database that does not answer costs half a second", event.Silence, time.Minute, hangs, []string{plain}, 500 * time.Millisecond},
		{"a fresh alert does not wait for that", event.Silence, 0, hangs, []string{plain}, 0},
	} {
		scenario(t, c.name, func(t *testing.T) {
			o, r := &fakeOutbox{}, newReceiver(failing(len(c.want)-1, 503, notify.Retry))
			o.add(toCallback("e", "mon-1"))
			o.entries[0].delivery.RoundBeganAt = time.Now().Add(-c.age)
			o.entries[0].delivery.Event.EventType, o.entries[0].delivery.Event.Body = c.of, []byte(plain)
			h := start(t, o, r, func(s *delivery.SenderConfig, _ *delivery.Config) { s.Evidence = c.find })
			h.advance(20 * time.Second)
			h.expect("e", "delivered", len(c.want))
			for n, s := range r.sent("e") {
				if string(s.event.Body) != c.want[n] || s.keys != nil || s.url != secretURL { // the keys are those of callbacks
					t.Errorf("attempt %d has the keys %q, and sends to %s %s, want %s", n+1, s.keys, s.url, s.event.Body, c.want[n])
				}
			}
			if late := r.times("e")[0]; late != c.late {
				t.Errorf("the first attempt came after %v, want %v", late, c.late)
			}
		})
	}
}

func TestNoSecretIsLogged(t *testing.T) {
	scenario(t, "whatever happens", func(t *testing.T) {
		o, r := &fakeOutbox{disabled: "gone"}, newReceiver(func(ctx context.Context, s sending, tried int) message.Result {
			return map[string]func(context.Context, sending, int) message.Result{"fine": accepts, "refuses": failing(1, 500, notify.Retry), "rejects": failing(1, 400, notify.Rejected), "gone": failing(1, 410, notify.Gone), "e1": accepts, "e2": accepts, "hangs": hangs}[s.to](ctx, s, tried)
		})
		for _, to := range []string{"fine", "refuses", "rejects", "gone", "hangs"} {
			o.add(aboutIncident("d "+to, newDestination(to, notify.Slack)))
		}
		o.add(aboutEvent("e1", newDestination("hook", notify.Webhook)))
		o.add(toCallback("e2", "mon-a"))
		h := start(t, o, r, nil)
		h.advance(5 * time.Second)
		o.set(func(o *fakeOutbox) { o.recordFails = true })
		h.advance(time.Minute)
		h.stop()
		log := h.log.String()
		if strings.Contains(log, "geheim") || strings.Count(log, "level=INFO msg=\"delivered to a destination\"") != 3 || strings.Count(log, "level=INFO msg=\"webhook delivered\"") != 1 {
			t.Errorf("the log is\n%s", log)
		}
	})
}

func TestAMessageShowsThePictureWhereItIsOfUse(t *testing.T) {
	withPicture := func(d *delivery.Delivery) {
		d.Incident.Picture = &incident.Picture{EvidenceID: "ev", Variant: "onset"}
	}
	acknowledged := func(d *delivery.Delivery) {
		withPicture(d)
		known(d)
		d.Incident.AcknowledgedBy, d.Incident.AcknowledgedSeverity = "A", 1
	}
	for name, c := range map[string]struct {
		change func(*delivery.Delivery)
		edits  bool
		err    error
		reads  int
		shown  bool
	}{
		"a first message":                         {withPicture, false, nil, 1, true},
		"one whose picture cannot be read":        {withPicture, false, errPicture, 1, false},
		"an acknowledgement":                      {acknowledged, false, nil, 0, false},
		"an acknowledgement in an edited message": {acknowledged, true, nil, 1, true},
	} {
		scenario(t, name, func(t *testing.T) {
			o, r, p := &fakeOutbox{}, newReceiver(accepts), &pictures{err: c.err}
			o.add(aboutIncident("d1", newDestination("slack", notify.Slack), c.change), notify.ThreadPolicy{Edits: c.edits})
			h := start(t, o, r, func(c *delivery.SenderConfig, _ *delivery.Config) { c.Pictures = p })
			h.advance(time.Second)
			h.expect("d1", "idle", 1)
			if shown := r.sent("slack")[0].message.Picture; (shown != nil) != c.shown || p.reads != c.reads {
				t.Errorf("after %d reads the picture is %+v", p.reads, shown)
			}
		})
	}
}

func TestStormsAndNoticesAreSent(t *testing.T) {
	scenario(t, "as messages of their own", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(accepts)
		o.add(aboutStorm("s", newDestination("storm", notify.Teams)))
		o.add(delivery.Delivery{ID: "n", Destination: newDestination("notice", notify.Teams), Notice: &message.Notice{Destination: "Ops", Cause: message.Gone, At: time.Now().Add(-time.Minute)}})
		h := start(t, o, r, nil)
		h.advance(time.Second)
		h.expect("s", "idle", 1)
		h.expect("n", "delivered", 1)
		for to, want := range map[string]string{
			"storm":  "🔴 CRITICAL｜37 of 180 streams: Black video, 1 min",
			"notice": "⚠️ NOT DELIVERED｜Destination Ops is disabled",
		} {
			if sent := r.sent(to); len(sent) != 1 || sent[0].message.Title != want || !sent[0].message.Push {
				t.Errorf("%s: sent were %+v", to, sent)
			}
		}
	})
}

func TestAnExampleIsSentAsItWouldBe(t *testing.T) {
	scenario(t, "to people and to systems", func(t *testing.T) {
		r := newReceiver(accepts)
		renderer, err := message.Load(message.Config{Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		s := delivery.NewSender(delivery.SenderConfig{Webhooks: r, Messages: map[notify.Kind]message.Sender{notify.Slack: messages{r}}, Renderer: renderer, Zone: time.UTC})
		if result := s.SendExample(t.Context(), newDestination("slack", notify.Slack), notify.Recovered); result.Class != notify.NoFailure {
			t.Errorf("the result is %+v", result)
		}
		if m := r.sent("slack")[0].message; m.Title != "TEST｜✅ RESOLVED｜Black video, 4 min 12 s｜007 Example Channel" {
			t.Error(m.Title)
		}
		if result := s.SendExample(t.Context(), newDestination("hook", notify.Webhook), notify.Opened); result.Class != notify.NoFailure {
			t.Errorf("the result is %+v", result)
		}
		if s := r.sendings[1]; s.event.EventType != "webhook.test" || s.url != secretURL || !strings.Contains(string(s.event.Body), s.event.EventID) || !slices.Equal(s.keys, []string{secretKey}) {
			t.Errorf("the test event is %+v", s)
		}
	})
}

func TestAnEventOfAChannelOfStreamsIsAWebhookOrAMessage(t *testing.T) {
	scenario(t, "both", func(t *testing.T) {
		o, r := &fakeOutbox{}, newReceiver(accepts)
		about := message.ChannelNotice{EventID: "e1", EventType: event.StreamFound, Count: 1}
		hook, people := about, about
		hook.Body, people.Channels = []byte(`{"event_id":"e1"}`), []message.ChannelNews{{Channel: "Example", Stream: "Talk", Watched: true}}
		o.add(delivery.Delivery{ID: "d1", Destination: newDestination("hook", notify.Webhook), Policy: notify.Policy{OwnKeys: true, Numbered: true}, Notice: &message.Notice{Channel: &hook}})
		o.add(delivery.Delivery{ID: "d2", Destination: newDestination("people", notify.Teams), Notice: &message.Notice{Channel: &people}})
		h := start(t, o, r, nil)
		h.advance(time.Second)
		if s := r.sent("e1"); len(s) != 1 || string(s[0].event.Body) != `{"event_id":"e1"}` || s[0].event.EventType != event.StreamFound || !slices.Equal(s[0].keys, []string{secretKey}) {
			t.Errorf("the webhook got %+v", s)
		}
		if s := r.sent("people"); len(s) != 1 || s[0].message.Title != "🆕 FOUND｜Talk｜Example" {
			t.Errorf("people got %+v", s)
		}
	})
}
