package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/stream-monitor/stream-monitor/application/delivery/message"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// PictureReader reads the pictures of incidents.
type PictureReader interface {
	// ReadPicture returns a picture with a signed URL, and with its bytes if they are at
	// most MaxPictureBytes; nil: it has been deleted. It blocks until the bytes are read.
	ReadPicture(ctx context.Context, p incident.Picture) (*message.Picture, error)
}

// MaxPictureBytes limits the picture of a message.
const MaxPictureBytes = 1 << 20

// pictureTimeout bounds the time for which a message waits for its picture to be read.
const pictureTimeout = 2 * time.Second

// The example of an event, as that of decision A8: it names no stream that exists.
const (
	testEvent   = event.Type("webhook.test")
	testMonitor = monitor.ID("mon-00000000000070008000000000000000")
	testStream  = "https://www.youtube.com/watch?v=XXXXXXXXXXX"
)

// Channels holds what a DestinationSender sends with.
type Channels struct {
	Webhooks WebhookSender                  // required
	Messages map[notify.Kind]message.Sender // by kind; a destination of another kind fails
	Renderer *message.Renderer              // required
	Pictures PictureReader                  // nil: messages have no pictures
	Evidence EvidenceFinder                 // nil: webhooks have no evidence
	Zone     *time.Location                 // of the times of evidence, default time.Local (decision A11)
}

// DestinationSender sends events and messages to destinations. It may be used concurrently.
type DestinationSender struct{ channels Channels }

// NewDestinationSender makes a DestinationSender.
func NewDestinationSender(c Channels) *DestinationSender {
	if c.Zone == nil {
		c.Zone = time.Local
	}
	return &DestinationSender{c}
}

// send sends a delivery once. step is the message of a thread.
func (s *DestinationSender) send(ctx context.Context, d DestinationDelivery, step notify.Step, log *slog.Logger) message.Result {
	if d.Event != nil {
		return s.sendEvent(ctx, d, log)
	}
	f := message.Facts{
		ID: messageID(d, step), ThreadID: d.threadID(), DestinationID: d.Destination.ID, Language: d.Destination.Language,
		Now: d.Now, Late: d.Age, Unreachable: d.Attempts > 0,
	}
	if thread := d.thread(); thread != nil {
		f.Situation, f.Told, f.Repeat = thread.Situation, thread.Told, thread.Plan.Repeat
	}
	switch {
	case d.Incident != nil:
		i := d.Incident
		f.Incident = &message.Incident{Incident: i.Incident, StreamURL: i.StreamURL, Metadata: i.Metadata}
		f.Picture = s.picture(ctx, d, step, log)
	case d.Storm != nil:
		f.Storm = &message.Storm{Streams: d.Storm.Streams, Live: d.Storm.Live}
	default:
		f.Notice = &message.Notice{Destination: d.Notice.Name, Reason: d.Notice.Reason, At: d.Notice.At}
	}
	return s.sendMessage(ctx, d.Destination, s.channels.Renderer.Message(f, step))
}

// SendExample sends an example of a message to a destination once, or a test event to a
// webhook. kind is notify.Opened or notify.Recovered. It blocks for at most SendTimeout.
func (s *DestinationSender) SendExample(ctx context.Context, d notify.Destination, kind notify.MessageKind) message.Result {
	id, now := uuid.Must(uuid.NewV7()).String(), time.Now()
	if d.Kind != notify.Webhook {
		e := message.NewExample(id, kind, now)
		e.Facts.DestinationID, e.Facts.Language = d.ID, d.Language
		return s.sendMessage(ctx, d, s.channels.Renderer.Message(e.Facts, e.Step))
	}
	body, err := json.Marshal(map[string]any{
		"event_id": id, "event_type": testEvent, "monitor_id": testMonitor, "stream_url": testStream,
		"timestamp": now.In(s.channels.Zone).Truncate(time.Millisecond), "metadata": struct{}{},
		"data": map[string]string{"message": "This is a test. Nothing has happened to any stream."},
	})
	if err != nil {
		return message.Result{At: now, Error: fmt.Sprintf("write the test event: %v", err), Class: notify.Rejected}
	}
	return s.sendWebhook(ctx, d, Delivery{EventID: id, EventType: testEvent, MonitorID: testMonitor, Body: body})
}

func (s *DestinationSender) sendMessage(ctx context.Context, d notify.Destination, m message.Message) message.Result {
	sender := s.channels.Messages[d.Kind]
	if sender == nil {
		return message.Result{At: time.Now(), Error: fmt.Sprintf("this version of the gateway cannot send to destinations of kind %s", d.Kind), Class: notify.Retry}
	}
	ctx, cancel := context.WithTimeout(ctx, SendTimeout)
	defer cancel()
	return sender.Send(ctx, d, m)
}

// sendEvent sends an event to a webhook, with its sequence and, if it is there, its
// evidence.
func (s *DestinationSender) sendEvent(ctx context.Context, d DestinationDelivery, log *slog.Logger) message.Result {
	e := d.Event
	body, err := event.AddSequence(e.Body, e.Sequence)
	if err != nil {
		return message.Result{At: time.Now(), Error: err.Error(), Class: notify.Rejected}
	}
	l := Delivery{EventID: e.EventID, EventType: e.EventType, MonitorID: e.MonitorID, Body: body, Attempts: d.Attempts, Age: d.Age}
	l.Body = evidenceAdder{s.channels.Evidence, s.channels.Zone}.payload(ctx, l, log)
	return s.sendWebhook(ctx, d.Destination, l)
}

// sendWebhook signs an event with the key of the destination, and with the former one
// during a rotation.
func (s *DestinationSender) sendWebhook(ctx context.Context, d notify.Destination, l Delivery) message.Result {
	l.CallbackURL = monitor.CallbackURL(d.Secrets["url"])
	keys := []string{d.Secrets["signing_key"]}
	if former := d.Secrets["previous_signing_key"]; former != "" && time.Now().Before(d.PreviousUntil) {
		keys = append(keys, former)
	}
	a := s.channels.Webhooks.SendSigned(ctx, l, keys)
	r := message.Result{At: a.At, Status: a.Status, Error: a.Error, Wait: a.RetryAfter, Exchange: a.Exchange}
	if !a.Accepted() {
		r.Class = classOf(a.Status)
	}
	return r
}

// classOf returns what a status that is not 2xx means for the next attempt.
func classOf(status int) notify.Class {
	switch status {
	case 400, 413, 422:
		return notify.Rejected
	case 410:
		return notify.Gone
	}
	return notify.Retry
}

// picture reads the picture of an incident for a message that shows it: a first message
// or, where messages are edited, every one. A failure costs the picture, not the message.
func (s *DestinationSender) picture(ctx context.Context, d DestinationDelivery, step notify.Step, log *slog.Logger) *message.Picture {
	p := d.Incident.Incident.Picture
	if p == nil || s.channels.Pictures == nil || !d.Incident.Plan.Edits && !step.Push {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pictureTimeout)
	defer cancel()
	shown, err := s.channels.Pictures.ReadPicture(ctx, *p)
	if err != nil {
		log.Info("message is sent without its picture, which could not be read", "error", err.Error())
		return nil
	}
	return shown
}

// messageID names a message. It is the same at every attempt, also of another gateway,
// until there is something else to tell.
func messageID(d DestinationDelivery, step notify.Step) string {
	told := fmt.Sprintf("%s %d %s", d.ID, d.Round.UnixMicro(), step.Kind)
	if thread := d.thread(); thread != nil {
		told += fmt.Sprintf(" %d %v", thread.Situation.Severity, thread.Situation.Conditions)
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(told)).String()
}
