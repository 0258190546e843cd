package delivery

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// pictureTimeout bounds the time for which a message waits for its picture to be read.
const pictureTimeout = 2 * time.Second

// SenderConfig configures a Sender.
type SenderConfig struct {
	Webhooks WebhookSender                  // required
	Messages map[notify.Kind]message.Sender // by kind; a destination of another kind fails
	Renderer *message.Renderer              // required, unless there are callbacks only
	Pictures PictureReader                  // nil: messages have no pictures
	Evidence EvidenceFinder                 // nil: webhooks have no evidence
	Zone     *time.Location                 // of the times of evidence, default time.Local (decision A11)
}

// Sender sends events and messages. It may be used concurrently.
type Sender struct{ cfg SenderConfig }

// NewSender makes a Sender.
func NewSender(cfg SenderConfig) *Sender {
	if cfg.Zone == nil {
		cfg.Zone = time.Local
	}
	return &Sender{cfg}
}

// send sends a delivery once.
func (s *Sender) send(ctx context.Context, d Delivery, log *slog.Logger) message.Result {
	if d.Event != nil {
		return s.sendEvent(ctx, d, log)
	}
	if d.Notice != nil && d.Notice.Channel != nil && d.Destination.GetsEvents() {
		return s.sendChannelEvent(ctx, d)
	}
	step := d.Message.NextMessage
	f := message.Facts{
		ThreadID: d.threadID(), DestinationID: d.Destination.ID, Language: d.Destination.Language,
		Situation: d.Message.Situation, Notified: d.Notified, Repeat: d.Message.Policy.Repeat, Now: d.Now, Delay: d.Age, Unreachable: d.Tried > 0,
		Incident: d.Incident, Storm: d.Storm, Notice: d.Notice,
	}
	switch {
	case d.Incident != nil:
		f.Picture = s.picture(ctx, d, log)
	case d.Notice != nil:
		step = notify.NextMessage{Kind: notify.Opened, Push: true}
	}
	f.ID = messageID(d, step)
	ctx, cancel := context.WithTimeout(ctx, SendTimeout)
	defer cancel()
	channel := s.channel(d.Destination.Kind)
	r := channel.Send(ctx, d.Destination, s.cfg.Renderer.Message(f, step))
	if r.Class == notify.Rejected && step.Kind == notify.Recovered {
		log.Info("the end of an incident was rejected and is sent again in its shortest form", "error", r.Error)
		r = channel.Send(ctx, d.Destination, s.cfg.Renderer.Shortest(f, step))
	}
	return r
}

// SendExample sends an example of a message to a destination once, or a test event to a
// webhook. kind is notify.Opened or notify.Recovered. It blocks for at most SendTimeout.
func (s *Sender) SendExample(ctx context.Context, d notify.Destination, kind notify.MessageKind) message.Result {
	id, now := uuid.Must(uuid.NewV7()).String(), time.Now()
	if d.Kind != notify.Webhook {
		e := message.NewExample(id, kind, now)
		e.Facts.DestinationID, e.Facts.Language = d.ID, d.Language
		return s.channel(d.Kind).Send(ctx, d, s.cfg.Renderer.Message(e.Facts, e.Step))
	}
	body, err := event.NewTest(id, now.In(s.cfg.Zone))
	if err != nil {
		return message.Result{Attempt: event.Attempt{At: now, Error: err.Error()}, Class: notify.Rejected}
	}
	e := Event{EventID: id, EventType: event.Test, MonitorID: event.TestMonitor, Body: body}
	return resultOf(s.cfg.Webhooks.Send(ctx, urlOf(d), e, signingKeys(d, now)))
}

// channel returns the sender of a kind of destinations.
func (s *Sender) channel(kind notify.Kind) message.Sender {
	if known := s.cfg.Messages[kind]; known != nil {
		return known
	}
	return unknownChannel{}
}

// unknownChannel stands for a kind of destinations that only a later version of the gateway has.
type unknownChannel struct{}

// Send implements message.Sender.
func (unknownChannel) Send(_ context.Context, d notify.Destination, _ message.Message) message.Result {
	a := event.Attempt{At: time.Now(), Error: fmt.Sprintf("this version of the gateway cannot send to destinations of kind %s", d.Kind)}
	return message.Result{Attempt: a, Class: notify.Retry}
}

// sendEvent sends an event as the policy says, with its evidence if that is there.
func (s *Sender) sendEvent(ctx context.Context, d Delivery, log *slog.Logger) message.Result {
	e, to, keys := *d.Event, d.Callback, []string(nil)
	if d.Policy.OwnKeys {
		to, keys = urlOf(d.Destination), signingKeys(d.Destination, d.Now)
	}
	if d.Policy.Numbered {
		var err error
		if e.Body, err = event.AddSequence(e.Body, e.Sequence); err != nil {
			return message.Result{Attempt: event.Attempt{At: time.Now(), Error: err.Error()}, Class: notify.Rejected}
		}
	}
	e.Body = s.addEvidence(ctx, d, e.Body, log)
	return resultOf(s.cfg.Webhooks.Send(ctx, to, e, keys))
}

// sendChannelEvent sends an event of a channel of streams to a webhook. It belongs to no monitor and has no sequence.
func (s *Sender) sendChannelEvent(ctx context.Context, d Delivery) message.Result {
	e := Event{EventID: d.Notice.Channel.EventID, EventType: d.Notice.Channel.EventType, Body: d.Notice.Channel.Body}
	return resultOf(s.cfg.Webhooks.Send(ctx, urlOf(d.Destination), e, signingKeys(d.Destination, d.Now)))
}

// urlOf returns the URL of a webhook.
func urlOf(d notify.Destination) monitor.CallbackURL { return monitor.CallbackURL(d.Secrets["url"]) }

// signingKeys returns the key of a webhook, and the former one during a rotation.
func signingKeys(d notify.Destination, now time.Time) []string {
	keys := []string{d.Secrets["signing_key"]}
	if former := d.Secrets["previous_signing_key"]; former != "" && now.Before(d.PreviousUntil) {
		keys = append(keys, former)
	}
	return keys
}

// resultOf returns the result of an attempt at an event.
func resultOf(a event.Attempt) message.Result {
	r := message.Result{Attempt: a}
	if !a.Accepted() {
		if r.Class = notify.ClassOfStatus(a.Status); r.Class == notify.NoFailure {
			r.Class = notify.Retry
		}
	}
	return r
}

// picture reads the picture of an incident for a message that shows it: each push, and every
// message where messages are edited. A failure costs the picture, not the message.
func (s *Sender) picture(ctx context.Context, d Delivery, log *slog.Logger) *message.Picture {
	p := d.Incident.Picture
	if p == nil || s.cfg.Pictures == nil || !d.Message.Policy.Edits && !d.Message.Push {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pictureTimeout)
	defer cancel()
	shown, err := s.cfg.Pictures.ReadPicture(ctx, *p)
	if err != nil {
		log.Info("message is sent without its picture, which could not be read", "error", err.Error())
		return nil
	}
	return shown
}

// messageID names a message. It is the same at every attempt, also of another gateway,
// until another message is due. A storm's message does not name its conditions.
func messageID(d Delivery, step notify.NextMessage) string {
	name := fmt.Sprintf("%s %d %s", d.ID, d.RoundBeganAt.UnixMicro(), step.Kind)
	if d.isThread() {
		name += fmt.Sprintf(" %d", d.Message.Situation.SeverityNow)
	}
	if d.Incident != nil {
		name += fmt.Sprintf(" %v", d.Message.Situation.Conditions)
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String()
}
