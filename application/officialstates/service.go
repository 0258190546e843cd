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

// Store keeps the account of the API, and what it said. Each method blocks for a few exchanges with the store and may
// be called concurrently.
type Store interface {
	// OfficialAccount reads the account; the zero value before the first round.
	OfficialAccount(ctx context.Context) (officialstate.Account, error)

	// ChangeOfficialAccount changes the account in one transaction, in which nobody else changes it.
	ChangeOfficialAccount(ctx context.Context, change func(*officialstate.Account)) error

	// OfficialStreams reads the streams of YouTube that have a worker.
	OfficialStreams(ctx context.Context) ([]officialstate.Stream, error)

	// StoreOfficialStates stores what the API said of streams, and how long ago it was asked.
	StoreOfficialStates(ctx context.Context, states map[monitor.ID]monitor.StreamStatus, age time.Duration) error
}

// API asks videos.list about at most officialstate.PerCall ids. It blocks for at most 10 s, and decides nothing.
type API interface {
	Videos(ctx context.Context, ids []string) officialstate.Response
}

// Config is the configuration of a Service. All fields are required.
type Config struct {
	Key  string         // tells the API key from another, without revealing it
	Zone *time.Location // that of officialstate.Zone
	Now  func() time.Time
	Log  *slog.Logger
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
	account, err := s.store.OfficialAccount(ctx)
	if err != nil {
		return fmt.Errorf("read the account of the API: %w", err)
	}
	if !account.Due(s.Now(), s.Key) {
		return nil
	}
	streams, err := s.store.OfficialStreams(ctx)
	if err != nil {
		return fmt.Errorf("read the streams to ask about: %w", err)
	}
	if len(streams) == 0 {
		return nil
	}
	began := s.Now()
	err = s.store.ChangeOfficialAccount(ctx, func(a *officialstate.Account) { streams = a.Begin(began, s.Key, streams, s.Zone) })
	if err != nil {
		return fmt.Errorf("begin a round of questions: %w", err)
	}
	if len(streams) == 0 {
		return nil // another gateway has begun it
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
	for asked := range slices.Chunk(streams, officialstate.PerCall) {
		var ids []string
		for _, stream := range asked {
			ids = append(ids, stream.VideoID)
		}
		response := s.api.Videos(ctx, ids)
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
	err := s.store.ChangeOfficialAccount(ctx, func(a *officialstate.Account) {
		before = *a
		a.End(s.Now(), failure, s.Zone)
		after = *a
	})
	switch {
	case err != nil:
		return fmt.Errorf("end a round of questions: %w", err)
	case after.Failure.Kind == before.Failure.Kind:
	case failure == nil:
		s.Log.Info("the YouTube Data API answers again; workers ask yt-dlp less often")
	default:
		s.Log.Warn("the YouTube Data API gives no answer; workers ask yt-dlp as often as without YOUTUBE_API_KEY",
			"failure", string(failure.Kind), "error", failure.Detail, "next_at", after.NextAt, "units_used", after.Used)
	}
	return nil
}
