package opinions

import (
	"context"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/application/wait"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Schema is the version of questions. A change that an endpoint may not understand increases it.
const Schema = 1

// AskTimeout bounds one question with its answer.
const AskTimeout = 5 * time.Second

const (
	pollInterval    = 500 * time.Millisecond // between two looks for questions
	maxAsking       = 8                      // questions under way at a time
	picturesTimeout = 2 * time.Second        // for the pictures of an alert to be there, and to be read
	storeTimeout    = 2 * time.Second        // for one try to store an answer
	storePause      = 500 * time.Millisecond // between two tries
)

// Question asks about the alert of an event.
type Question struct {
	EventID    string
	EventType  string
	IncidentID string
	MonitorID  monitor.ID
	StreamURL  monitor.StreamURL
	Condition  incident.Name
	Event      []byte // the payload of the event, as its webhook has it
	AskedAt    time.Time
	Pictures   []evidence.Picture
	Test       bool // nothing has happened: a person tests the endpoint
}

// Store keeps the opinions with their incidents. Its methods may be called concurrently, by several gateways; each
// blocks for a few exchanges with the database.
type Store interface {
	// ClaimQuestions returns up to limit alerts to ask about now, as incident.Ask decides. It stores that they were
	// asked about, so each is returned once, to one gateway.
	ClaimQuestions(ctx context.Context, coolDown time.Duration, limit int) ([]Question, error)

	// StoreOpinion stores what came of a question. It may be repeated.
	StoreOpinion(ctx context.Context, id monitor.ID, eventID string, o incident.Opinion) error
}

// PictureReader reads the pictures of alerts.
type PictureReader interface {
	// AlertPictures returns the pictures that are stored of an alert, with their bytes.
	AlertPictures(ctx context.Context, id monitor.ID, eventID string) ([]evidence.Picture, error)
}

// Adviser answers questions.
type Adviser interface {
	// Ask asks once and blocks until there is an answer, for at most AskTimeout. A failure
	// becomes an incident.NoOpinion with its reason.
	Ask(ctx context.Context, q Question) incident.Opinion
}

// Asker asks about the alerts of all streams. Any number of gateways may run one on the same store.
type Asker struct {
	store    Store
	pictures PictureReader
	adviser  Adviser
	coolDown time.Duration
	log      *slog.Logger
}

// NewAsker makes an Asker. coolDown is the least time between two questions about one stream.
func NewAsker(store Store, pictures PictureReader, adviser Adviser, coolDown time.Duration, log *slog.Logger) *Asker {
	return &Asker{store, pictures, adviser, coolDown, log.With("component", "opinions")}
}

// Run asks until ctx is done, and then waits for the answers to what was asked.
func (a *Asker) Run(ctx context.Context) {
	asking := make(wait.Slots, maxAsking)
	for wait.For(ctx, pollInterval) {
		free := cap(asking) - len(asking)
		if free == 0 {
			continue
		}
		questions, err := a.store.ClaimQuestions(ctx, a.coolDown, free)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("cannot read which alerts to ask a second opinion about, will try again; messages go without one", "error", err.Error())
		}
		for _, q := range questions {
			asking <- struct{}{}
			go func() {
				defer func() { <-asking }()
				a.ask(context.WithoutCancel(ctx), q)
			}()
		}
	}
	for range cap(asking) {
		asking <- struct{}{}
	}
}

// ask asks one question and stores the answer.
func (a *Asker) ask(ctx context.Context, q Question) {
	log := a.log.With("monitor_id", string(q.MonitorID), "incident_id", q.IncidentID, "event_id", q.EventID)
	var err error
	if q.Pictures, err = a.picturesOf(ctx, q); err != nil {
		log.Info("a second opinion is asked for without pictures, which could not be read", "error", err.Error())
	}
	o := a.adviser.Ask(ctx, q)
	if err := a.storeAnswer(ctx, q, o); err != nil {
		log.Warn("a second opinion could not be stored, messages go without it", "error", err.Error(), "opinion", string(o.Verdict))
		return
	}
	if o.Verdict == incident.OpinionUnknown {
		log.Warn("a second opinion was asked for in vain, messages go without it: correct the endpoint of SECOND_OPINION_URL", "error", o.Reason)
		return
	}
	log.Info("a second opinion was given", "opinion", string(o.Verdict), "text", o.Text())
}

// picturesOf reads the pictures of an alert, and looks again for up to picturesTimeout: a worker on a busy host uploads them late.
func (a *Asker) picturesOf(ctx context.Context, q Question) ([]evidence.Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, picturesTimeout)
	defer cancel()
	for {
		pictures, err := a.pictures.AlertPictures(ctx, q.MonitorID, q.EventID)
		if len(pictures) > 0 || err != nil || !wait.For(ctx, pollInterval) {
			return pictures, err
		}
	}
}

// storeAnswer stores an opinion, and tries again while it still changes messages.
func (a *Asker) storeAnswer(ctx context.Context, q Question, o incident.Opinion) error {
	ctx, cancel := context.WithTimeout(ctx, incident.OpinionWithin-AskTimeout)
	defer cancel()
	for {
		limited, done := context.WithTimeout(ctx, storeTimeout)
		err := a.store.StoreOpinion(limited, q.MonitorID, q.EventID, o)
		done()
		if err == nil || !wait.For(ctx, storePause) {
			return err
		}
	}
}
