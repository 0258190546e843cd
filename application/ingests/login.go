package ingests

import (
	"context"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/instant"
	"github.com/stream-monitor/stream-monitor/domain/login"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// Limits of logins.
const (
	MaxLogins = 10 // more could not be asked about within ingest.Life: 10,000 units a day allow a look of each every 6 minutes
	MaxName   = 60 // characters
	maxToken  = 512
)

// NotFound is the code of a refusal beside those of package monitor.
const NotFound monitor.Code = "INGEST_LOGIN_NOT_FOUND"

// Token is the refresh token of an owner. It opens what the owner has allowed, so it prints as a placeholder.
type Token string

// String returns a placeholder.
func (Token) String() string { return "[token]" }

// GoString returns a placeholder.
func (Token) GoString() string { return "[token]" }

// Login is a stored login without its token.
type Login struct {
	ID         string
	Name       string
	CreatedAt  time.Time
	UploadedAt time.Time // of the newest upload
	AskedAt    time.Time // when the newest look ended; zero: there was none
	NextAt     time.Time // when the next one is due
	Streams    int       // that are watched, of which it told in the newest look

	Failure  *officialstate.Failure // why the newest look failed; nil: it did not
	Failures int                    // in a row

	login.Standing
}

// end takes in the outcome of a look that ended at now; nil: it told of so many streams. next is when another one may begin.
func (l *Login) end(now, next time.Time, streams int, f *officialstate.Failure) {
	l.AskedAt, l.NextAt, l.Failure = now, next, f
	if f == nil {
		l.AcceptedAt, l.RejectedAt, l.Streams, l.Failures = now, time.Time{}, streams, 0
		return
	}
	l.Failures++
	l.NextAt = instant.Latest(next, officialstate.RetryAt(now, l.Failures))
	if f.Kind == officialstate.LoginRejected {
		l.RejectedAt = instant.Earliest(l.RejectedAt, now)
	}
}

// LoginStore keeps logins, encrypted. Each method blocks for one exchange with the store and may be called concurrently.
type LoginStore interface {
	// IngestLogins reads all logins, by name.
	IngestLogins(ctx context.Context) ([]Login, error)

	// CreateIngestLogin stores a login. Errors: *monitor.Error NameTaken; InvalidConfig when there are MaxLogins.
	CreateIngestLogin(ctx context.Context, l Login, token Token) error

	// ReplaceIngestLogin replaces the token of the login with the id of l, and forgets how the one before was. It returns the
	// login. Errors: *monitor.Error NotFound.
	ReplaceIngestLogin(ctx context.Context, l Login, token Token) (Login, error)

	// DeleteIngestLogin deletes a login. Errors: *monitor.Error NotFound.
	DeleteIngestLogin(ctx context.Context, id string) error
}

// Logins answers people. It may be used concurrently.
type Logins struct {
	store LoginStore
	newID func() string
	now   func() time.Time
}

// NewLogins makes Logins. newID makes UUIDv7s.
func NewLogins(store LoginStore, newID func() string, now func() time.Time) *Logins {
	return &Logins{store, newID, now}
}

// List returns all logins, by name.
func (s *Logins) List(ctx context.Context) ([]Login, error) { return s.store.IngestLogins(ctx) }

// Create stores a login under a name. Errors: *monitor.Error InvalidConfig; those of LoginStore.CreateIngestLogin.
func (s *Logins) Create(ctx context.Context, name string, token Token) (Login, error) {
	l := Login{ID: s.newID(), Name: name, CreatedAt: s.now(), UploadedAt: s.now()}
	if err := monitor.Join(monitor.CheckLine("name", name, 1, MaxName), token.check()); err != nil {
		return Login{}, err
	}
	return l, s.store.CreateIngestLogin(ctx, l, token)
}

// Replace replaces the token of a login. Errors: *monitor.Error InvalidConfig; those of LoginStore.ReplaceIngestLogin.
func (s *Logins) Replace(ctx context.Context, id string, token Token) (Login, error) {
	if err := token.check(); err != nil {
		return Login{}, err
	}
	return s.store.ReplaceIngestLogin(ctx, Login{ID: id, UploadedAt: s.now()}, token)
}

// Delete deletes a login. Errors: those of LoginStore.DeleteIngestLogin.
func (s *Logins) Delete(ctx context.Context, id string) error {
	return s.store.DeleteIngestLogin(ctx, id)
}

// check refuses what is no refresh token. The error quotes nothing of it.
func (t Token) check() error {
	const expected = `accepted is the refresh token of Google's OAuth, which begins with "1//"`
	switch text := string(t); {
	case text == "" || len(text) > maxToken:
		return monitor.FieldErrorf("refresh_token", "has %d bytes; %s and has at most %d", len(text), expected, maxToken)
	case strings.HasPrefix(text, "ya29."):
		return monitor.FieldErrorf("refresh_token", "is an access token, which ends after an hour; %s", expected)
	case strings.HasPrefix(text, "GOCSPX-"):
		return monitor.FieldErrorf("refresh_token", "is the secret of an OAuth client, which belongs into YOUTUBE_OAUTH_CLIENT_SECRET; %s", expected)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return monitor.FieldErrorf("refresh_token", "has spaces, line breaks or characters beyond ASCII; %s", expected)
	}
	return nil
}
