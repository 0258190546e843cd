package officialstates

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// Store keeps the accounts of the APIs, and what they said. Each method blocks for a few exchanges with the store and may
// be called concurrently.
type Store interface {
	// OfficialAccount reads the account of a source's API; the zero value before the first round.
	OfficialAccount(ctx context.Context, source monitor.SourceName) (officialstate.Account, error)

	// ChangeOfficialAccount changes the account of a source's API in one transaction, in which nobody else changes it.
	ChangeOfficialAccount(ctx context.Context, source monitor.SourceName, change func(*officialstate.Account)) error

	// OfficialStreams reads the streams of a source that have a worker and are not paused.
	OfficialStreams(ctx context.Context, source monitor.SourceName) ([]officialstate.Stream, error)

	// StoreOfficialStates stores what the API said of streams, and how long ago it was asked.
	StoreOfficialStates(ctx context.Context, states map[monitor.ID]monitor.StreamStatus, age time.Duration) error
}

// API asks about at most Config.PerCall ids of streams. It blocks for at most 40 s, and decides nothing.
type API interface {
	Ask(ctx context.Context, ids []string) officialstate.Response
}

// Config is the configuration of a Service. All fields but Zone are required.
type Config struct {
	Source  monitor.SourceName
	Name    string // of the API, for the log
	Setting string // without which it is not asked
	Key     string // tells the key from another, without revealing it
	PerCall int
	Zone    *time.Location // that of officialstate.Zone; nil: the API has no units of a day
	Now     func() time.Time
	Log     *slog.Logger
}

// Service asks the API.
type Service struct {
	store Store
	api   API
	Config
}

// NewService returns a Service.
func NewService(store Store, api API, c Config) *Service {
	c.Log = c.Log.With("component", "officialstates")
	return &Service{store, api, c}
}

// Run asks about all streams, if a round is due. Errors: the store fails.
func (s *Service) Run(ctx context.Context) error {
	account, err := s.store.OfficialAccount(ctx, s.Source)
	if err != nil {
		return fmt.Errorf("read the account of the API: %w", err)
	}
	if !account.Due(s.Now(), s.Key) {
		return nil
	}
	streams, err := s.store.OfficialStreams(ctx, s.Source)
	if err != nil {
		return fmt.Errorf("read the streams to ask about: %w", err)
	}
	if len(streams) == 0 {
		return nil
	}
	began := s.Now()
	err = s.store.ChangeOfficialAccount(ctx, s.Source, func(a *officialstate.Account) {
		if s.Zone == nil {
			streams = a.BeginAll(began, s.Key, streams)
			return
		}
		streams = a.Begin(began, s.Key, streams, s.Zone)
	})
	if err != nil {
		return fmt.Errorf("begin a round of questions: %w", err)
	}
	if len(streams) == 0 {
		return nil // another gateway has begun it, or none waits
	}
	states, failure := s.ask(ctx, streams)
	if err := s.store.StoreOfficialStates(ctx, states, s.Now().Sub(began)); err != nil {
		return fmt.Errorf("store the states of streams: %w", err)
	}
	return s.end(ctx, failure)
}

// ask asks about streams until a call fails. It returns the states that it has learned.
func (s *Service) ask(ctx context.Context, streams []officialstate.Stream) (map[monitor.ID]monitor.StreamStatus, *officialstate.Failure) {
	states := map[monitor.ID]monitor.StreamStatus{}
	for asked := range slices.Chunk(streams, s.PerCall) {
		var ids []string
		for _, stream := range asked {
			ids = append(ids, stream.SourceID)
		}
		response := s.api.Ask(ctx, ids)
		if failure := response.Failure(); failure != nil {
			return states, failure
		}
		maps.Copy(states, response.States(asked))
	}
	return states, nil
}

// end stores the outcome of a round, and logs that the API fails in another way than before, or answers again.
func (s *Service) end(ctx context.Context, failure *officialstate.Failure) error {
	var before, after officialstate.Account
	err := s.store.ChangeOfficialAccount(ctx, s.Source, func(a *officialstate.Account) {
		before = *a
		a.End(s.Now(), failure, s.Zone)
		after = *a
	})
	switch {
	case err != nil:
		return fmt.Errorf("end a round of questions: %w", err)
	case after.Failure.Kind == before.Failure.Kind:
	case failure == nil:
		s.Log.Info("the official API of a source answers again; workers ask its tools less often", "api", s.Name)
	default:
		s.Log.Warn("the official API of a source gives no answer; workers ask its tools as often as without it",
			"api", s.Name, "setting", s.Setting, "failure", string(failure.Kind), "error", failure.Detail, "next_at", after.NextAt, "units_used", after.Used)
	}
	return nil
}
