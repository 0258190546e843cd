package destination

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/application/delivery"
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
	Renderer *message.Renderer              // required
	Pictures PictureReader                  // nil: messages have no pictures
	Evidence delivery.EvidenceFinder        // nil: webhooks have no evidence
	Zone     *time.Location                 // of the times of evidence, default time.Local (decision A11)
}

// Sender sends events and messages to destinations. It may be used concurrently.
type Sender struct{ cfg SenderConfig }

// NewSender makes a Sender.
func NewSender(cfg SenderConfig) *Sender {
	if cfg.Zone == nil {
		cfg.Zone = time.Local
	}
	return &Sender{cfg}
}

// send sends a delivery once. step is the message of a thread.
func (s *Sender) send(ctx context.Context, d Delivery, step notify.NextMessage, log *slog.Logger) message.Result {
	if d.Event != nil {
		return s.sendEvent(ctx, d, log)
	}
	f := message.Facts{
		ID: messageID(d, step), ThreadID: d.threadID(), DestinationID: d.Destination.ID, Language: d.Destination.Language,
		Now: d.Now, Delay: d.Age, Unreachable: d.Attempts > 0,
	}
	if thread := d.thread(); thread != nil {
		f.Situation, f.Notified, f.Repeat = thread.Situation, thread.Notified, thread.Policy.Repeat
	}
	switch {
	case d.Incident != nil:
		i := d.Incident
		f.Incident = &message.StreamIncident{Incident: i.Incident, Good: i.Good, Number: i.Number, StreamURL: i.StreamURL, Metadata: i.Metadata}
		f.Picture = s.picture(ctx, d, step, log)
	case d.Storm != nil:
		f.Storm = &d.Storm.Storm
	default:
		f.Notice = d.Notice
	}
	ctx, cancel := context.WithTimeout(ctx, delivery.SendTimeout)
	defer cancel()
	r := s.sendMessage(ctx, d.Destination, s.cfg.Renderer.Message(f, step))
	if r.Class == notify.Rejected && step.Kind == notify.Recovered {
		log.Info("the end of an incident was rejected and is sent again in its shortest form", "error", r.Error)
		r = s.sendMessage(ctx, d.Destination, s.cfg.Renderer.Shortest(f, step))
	}
	return r
}

// SendExample sends an example of a message to a destination once, or a test event to a
// webhook. kind is notify.Opened or notify.Recovered. It blocks for at most delivery.SendTimeout.
func (s *Sender) SendExample(ctx context.Context, d notify.Destination, kind notify.MessageKind) message.Result {
	id, now := uuid.Must(uuid.NewV7()).String(), time.Now()
	if d.Kind != notify.Webhook {
		e := message.NewExample(id, kind, now)
		e.Facts.DestinationID, e.Facts.Language = d.ID, d.Language
		return s.sendMessage(ctx, d, s.cfg.Renderer.Message(e.Facts, e.Step))
	}
	body, err := event.NewTest(id, now.In(s.cfg.Zone))
	if err != nil {
		return message.Result{At: now, Error: err.Error(), Class: notify.Rejected}
	}
	return s.sendWebhook(ctx, d, Event{EventID: id, EventType: event.Test, MonitorID: event.TestMonitor, Body: body}, now)
}

func (s *Sender) sendMessage(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	sender := s.cfg.Messages[d.Kind]
	if sender == nil {
		return message.Result{At: time.Now(), Error: fmt.Sprintf("this version of the gateway cannot send to destinations of kind %s", d.Kind), Class: notify.Retry}
	}
	ctx, cancel := context.WithTimeout(ctx, delivery.SendTimeout)
	defer cancel()
	r := sender.Send(ctx, d, m)
	if r.Exchange != nil {
		kept := *r.Exchange
		kept.Message = strings.ToValidUTF8(limited(m.Text(), event.MaxExchangeBody), "")
		r.Exchange = &kept
	}
	return r
}

// limited returns the first bytes of a text.
func limited(s string, most int) string { return s[:min(len(s), most)] }

// sendEvent sends an event to a webhook, with its sequence and, if it is there, its
// evidence.
func (s *Sender) sendEvent(ctx context.Context, d Delivery, log *slog.Logger) message.Result {
	e := *d.Event
	body, err := event.AddSequence(e.Body, e.Sequence)
	if err != nil {
		return message.Result{At: time.Now(), Error: err.Error(), Class: notify.Rejected}
	}
	e.Body = delivery.EvidenceAdder{Finder: s.cfg.Evidence, Zone: s.cfg.Zone}.Add(ctx, delivery.Payload{
		EventID: e.EventID, EventType: e.EventType, MonitorID: e.MonitorID, Body: body, Attempts: d.Attempts, Age: d.Age,
	}, log)
	return s.sendWebhook(ctx, d.Destination, e, d.Now)
}

// sendWebhook signs an event with the key of the destination, and with the former one
// during a rotation.
func (s *Sender) sendWebhook(ctx context.Context, d notify.Destination, e Event, now time.Time) message.Result {
	keys := []string{d.Secrets["signing_key"]}
	if former := d.Secrets["previous_signing_key"]; former != "" && now.Before(d.PreviousUntil) {
		keys = append(keys, former)
	}
	a := s.cfg.Webhooks.SendSigned(ctx, monitor.CallbackURL(d.Secrets["url"]), e, keys)
	r := message.Result{At: a.At, Status: a.Status, Error: a.Error, RetryAfter: a.RetryAfter, Exchange: a.Exchange}
	if !a.Accepted() {
		if r.Class = notify.ClassOfStatus(a.Status); r.Class == notify.NoFailure {
			r.Class = notify.Retry
		}
	}
	return r
}

// picture reads the picture of an incident for a message that shows it: each push, and every
// message where messages are edited. A failure costs the picture, not the message.
func (s *Sender) picture(ctx context.Context, d Delivery, step notify.NextMessage, log *slog.Logger) *message.Picture {
	p := d.Incident.Incident.Picture
	if p == nil || s.cfg.Pictures == nil || !d.Incident.Policy.Edits && !step.Push {
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
	name := fmt.Sprintf("%s %d %s", d.ID, d.FirstDueAt.UnixMicro(), step.Kind)
	if thread := d.thread(); thread != nil {
		name += fmt.Sprintf(" %d", thread.Situation.SeverityNow)
	}
	if d.Incident != nil {
		name += fmt.Sprintf(" %v", d.Incident.Situation.Conditions)
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)).String()
}
