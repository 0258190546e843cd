package ingests

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/ingest"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

const (
	unitsOfLook = 2           // a call for broadcasts, and one for signals
	tokenMargin = time.Minute // before the end of an access token, in which it is not used any more
	perCall     = 50          // streams of a call for signals
)

// Opened is a login with its token.
type Opened struct {
	Login
	Token Token
}

// Look is what came of a look with a login.
type Look struct {
	LoginID    string
	UploadedAt time.Time                    // of the token that was used: the outcome says nothing of another one
	Health     map[monitor.ID]ingest.Health // of the streams that are watched; of those that it told before, and not now, nothing is known
	Age        time.Duration                // since the questions began
}

// Store keeps what is learned with the logins. Each method blocks for a few exchanges with the store and may be called
// concurrently.
type Store interface {
	// OpenIngestLogins reads all logins with their tokens. That of an unreadable one is empty.
	OpenIngestLogins(ctx context.Context) ([]Opened, error)

	// OfficialStreams reads the streams of a source that have a worker.
	OfficialStreams(ctx context.Context, source monitor.SourceName) ([]officialstate.Stream, error)

	// ChangeOfficialAccount changes the account of the units of a source's API in one transaction, in which nobody else changes it.
	ChangeOfficialAccount(ctx context.Context, source monitor.SourceName, change func(*officialstate.Account)) error

	// EndIngestLook lets end change the login, and tells people if it is rejected from now on. It stores the health of
	// streams unless it is nil.
	EndIngestLook(ctx context.Context, look Look, end func(*Login)) error
}

// API asks with the login of an owner. Each method blocks for at most 10 s, and decides nothing.
type API interface {
	// Access exchanges a refresh token for an access token, which lives for a time.
	Access(ctx context.Context, refresh string) (token string, life time.Duration, r officialstate.Response)

	// Broadcasts lists the owner's broadcasts that are active.
	Broadcasts(ctx context.Context, access string) ([]ingest.Broadcast, officialstate.Response)

	// Signals lists what arrives for at most 50 streams of the owner.
	Signals(ctx context.Context, access string, streamIDs []string) ([]ingest.Signal, officialstate.Response)
}

// Config is the configuration of a Service. All fields are required.
type Config struct {
	Key  string         // tells the project from another, as officialstates.Config has it
	Zone *time.Location // that of officialstate.Zone
	Now  func() time.Time
	Log  *slog.Logger
}

// Service asks with the logins. Only one goroutine may use it.
type Service struct {
	store  Store
	api    API
	access map[string]accessToken // by the IDs of logins
	Config
}

// accessToken is kept in memory alone.
type accessToken struct {
	of    Token
	token string
	until time.Time
}

// NewService returns a Service.
func NewService(store Store, api API, c Config) *Service {
	c.Log = c.Log.With("component", "ingests")
	return &Service{store, api, map[string]accessToken{}, c}
}

// Run looks with each login that is due, if a stream is watched. Errors: the store fails.
func (s *Service) Run(ctx context.Context) error {
	logins, err := s.store.OpenIngestLogins(ctx)
	if err != nil {
		return fmt.Errorf("read the logins of owners: %w", err)
	}
	now := s.Now()
	due := slices.DeleteFunc(slices.Clone(logins), func(l Opened) bool { return l.Unreadable || now.Before(l.NextAt) && !now.Before(l.AskedAt) })
	if len(due) == 0 {
		return nil
	}
	streams, err := s.store.OfficialStreams(ctx, monitor.YouTube)
	if err != nil {
		return fmt.Errorf("read the streams to ask about: %w", err)
	}
	if len(streams) == 0 {
		return nil
	}
	for _, l := range due {
		if err := s.look(ctx, l, len(logins), streams); err != nil {
			return err
		}
	}
	return nil
}

// look looks with one of so many logins.
func (s *Service) look(ctx context.Context, l Opened, logins int, streams []officialstate.Stream) error {
	var next time.Time
	paid, began := false, s.Now()
	err := s.store.ChangeOfficialAccount(ctx, monitor.YouTube, func(a *officialstate.Account) {
		next, paid = a.Spend(began, s.Key, unitsOfLook, logins, s.Zone)
	})
	if err != nil {
		return fmt.Errorf("count the units of a look: %w", err)
	}
	look, failure := Look{LoginID: l.ID, UploadedAt: l.UploadedAt}, &officialstate.Failure{Kind: officialstate.QuotaExceeded, Detail: "the units of the day are used up"}
	if paid {
		look.Health, failure = s.ask(ctx, l, streams)
	}
	if failure != nil && failure.Kind == officialstate.QuotaExceeded && paid {
		err := s.store.ChangeOfficialAccount(ctx, monitor.YouTube, func(a *officialstate.Account) { next = a.Exhaust(s.Now(), s.Zone) })
		if err != nil {
			return fmt.Errorf("record that the units are used up: %w", err)
		}
	}
	look.Age = s.Now().Sub(began)
	var before, after Login
	err = s.store.EndIngestLook(ctx, look, func(stored *Login) {
		before = *stored
		stored.end(s.Now(), next, len(look.Health), failure)
		after = *stored
	})
	if err != nil {
		return fmt.Errorf("store the outcome of a look: %w", err)
	}
	s.log(before, after)
	return nil
}

// ask asks with a login. It returns the health of each stream that is watched and among the owner's broadcasts.
func (s *Service) ask(ctx context.Context, l Opened, streams []officialstate.Stream) (map[monitor.ID]ingest.Health, *officialstate.Failure) {
	access, failure := s.accessFor(ctx, l)
	if failure != nil {
		return nil, failure
	}
	broadcasts, r := s.api.Broadcasts(ctx, access)
	if failure := s.failure(l.ID, r); failure != nil {
		return nil, failure
	}
	watched := map[string]monitor.ID{}
	for _, stream := range streams {
		watched[stream.SourceID] = stream.MonitorID
	}
	broadcasts = slices.DeleteFunc(broadcasts, func(b ingest.Broadcast) bool { return watched[b.VideoID] == "" })
	var ids []string
	for _, b := range broadcasts {
		if b.StreamID != "" && !slices.Contains(ids, b.StreamID) {
			ids = append(ids, b.StreamID)
		}
	}
	var signals []ingest.Signal
	if len(ids) > 0 {
		signals, r = s.api.Signals(ctx, access, ids[:min(len(ids), perCall)])
		if failure := s.failure(l.ID, r); failure != nil {
			return nil, failure
		}
	}
	health := map[monitor.ID]ingest.Health{}
	for video, h := range ingest.Match(broadcasts, signals) {
		health[watched[video]] = h
	}
	return health, nil
}

// accessFor returns an access token of a login: the one that is known, or another.
func (s *Service) accessFor(ctx context.Context, l Opened) (string, *officialstate.Failure) {
	if known := s.access[l.ID]; known.of == l.Token && s.Now().Before(known.until) {
		return known.token, nil
	}
	token, life, r := s.api.Access(ctx, string(l.Token))
	if failure := r.Failure(); failure != nil {
		delete(s.access, l.ID)
		return "", failure
	}
	s.access[l.ID] = accessToken{l.Token, token, s.Now().Add(life - tokenMargin)}
	return token, nil
}

// unauthorized is the status of an access token that is not accepted any more: the next look asks for another.
const unauthorized = 401

func (s *Service) failure(loginID string, r officialstate.Response) *officialstate.Failure {
	if r.Status == unauthorized {
		delete(s.access, loginID)
	}
	return r.Failure()
}

// log logs that a login fails in another way than before, or works again.
func (s *Service) log(before, after Login) {
	kind := func(l Login) officialstate.FailureKind {
		if l.Failure == nil {
			return ""
		}
		return l.Failure.Kind
	}
	switch {
	case kind(after) == kind(before):
	case after.Failure == nil:
		s.Log.Info("YouTube tells again what arrives from the encoders of an owner", "ingest_login", after.Name)
	case after.Failure.Kind == officialstate.LoginRejected:
		s.Log.Warn("Google no longer accepts the login of an owner, so what arrives from the encoders is not known: let the owner sign in, and upload the new refresh token",
			"ingest_login", after.Name, "error", after.Failure.Detail)
	default:
		s.Log.Warn("YouTube does not tell what arrives from the encoders of an owner, will try again",
			"ingest_login", after.Name, "failure", string(after.Failure.Kind), "error", after.Failure.Detail, "next_at", after.NextAt)
	}
}
