package cookiejars

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/login"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Limits of jars (section 17.7).
const (
	MaxJars   = 50
	MaxUpload = 256 << 10 // bytes of an uploaded file, which may have the cookies of every site
	MaxText   = 64 << 10  // bytes of the cookies that are kept
)

// The codes of refusals beside those of package monitor.
const (
	NotFound monitor.Code = "COOKIE_JAR_NOT_FOUND"
	InUse    monitor.Code = "COOKIE_JAR_IN_USE"
)

// Record is a stored jar without its cookies.
type Record struct {
	ID         string
	Name       string
	Sources    []monitor.SourceName // that it has cookies for
	Cookies    int                  // how many
	SignedIn   bool                 // it has the cookies of a login
	Version    int                  // counts the contents, from 1
	Monitors   int                  // active ones that use it
	Channels   int                  // that are not stopped and use it
	CreatedAt  time.Time
	UploadedAt time.Time // of the newest upload

	login.Standing
}

// Store keeps jars, encrypted. Each method blocks for one exchange with the store and may be called concurrently, by
// several gateways.
type Store interface {
	RecordStore
	ContentStore
}

// RecordStore keeps what people upload.
type RecordStore interface {
	// CookieJars reads the records of all jars, by name.
	CookieJars(ctx context.Context) ([]Record, error)

	// CreateCookieJar stores a jar. Errors: *monitor.Error NameTaken; InvalidConfig when there are MaxJars.
	CreateCookieJar(ctx context.Context, r Record, text cookie.Text) error

	// ReplaceCookieJar replaces the cookies of the jar with the id of r by those of an upload, and makes a new revision of
	// the monitors that use it. It returns the record. Errors: *monitor.Error NotFound.
	ReplaceCookieJar(ctx context.Context, r Record, text cookie.Text) (Record, error)

	// DeleteCookieJar deletes a jar that no active monitor uses, and no channel that is not stopped. Errors: *monitor.Error NotFound, InUse.
	DeleteCookieJar(ctx context.Context, id string) error
}

// ContentStore reads and renews the cookies.
type ContentStore interface {
	// CookieJar reads the jar with a name. Its Version is 0 if there is none, or if no key decrypts it.
	CookieJar(ctx context.Context, name string) (cookie.Jar, error)

	// UseCookieJar lets use change a jar while nobody else does, and returns what it has become. It stores the cookies
	// if the version has grown, and in any case AcceptedAt and RejectedAt. A jar that cannot be read stays as it is.
	UseCookieJar(ctx context.Context, name string, use func(*cookie.Jar, *Record)) (cookie.Jar, error)
}

// Service answers people, workers and previews. It may be used concurrently.
type Service struct {
	store Store
	newID func() string
	now   func() time.Time
	log   *slog.Logger
}

// NewService makes a Service. newID makes UUIDv7s.
func NewService(store Store, newID func() string, now func() time.Time, log *slog.Logger) *Service {
	return &Service{store, newID, now, log.With("component", "cookie jars")}
}

// List returns the records of all jars, by name.
func (s *Service) List(ctx context.Context) ([]Record, error) { return s.store.CookieJars(ctx) }

// Create stores the cookies of an upload under a name. Errors: *monitor.Error InvalidConfig that names everything that is
// wrong; those of Store.CreateCookieJar.
func (s *Service) Create(ctx context.Context, name, upload string) (Record, error) {
	r := Record{ID: s.newID(), Name: name, Version: 1}
	text, err := s.read(&r, upload)
	if err := monitor.Join(monitor.CheckLine("name", name, 1, cookie.MaxName), err); err != nil {
		return Record{}, err
	}
	r.CreatedAt = r.UploadedAt
	return r, s.store.CreateCookieJar(ctx, r, text)
}

// Replace replaces the cookies of a jar by those of an upload. Errors: *monitor.Error InvalidConfig; those of
// Store.ReplaceCookieJar.
func (s *Service) Replace(ctx context.Context, id, upload string) (Record, error) {
	r := Record{ID: id}
	text, err := s.read(&r, upload)
	if err != nil {
		return Record{}, err
	}
	return s.store.ReplaceCookieJar(ctx, r, text)
}

// Delete deletes a jar. Errors: those of Store.DeleteCookieJar.
func (s *Service) Delete(ctx context.Context, id string) error {
	return s.store.DeleteCookieJar(ctx, id)
}

// read reads an upload, and tells in r what it has. Cookies of sites that are no sources are left out: nobody needs them here.
func (s *Service) read(r *Record, upload string) (cookie.Text, error) {
	all, err := cookie.Parse(upload)
	if err != nil {
		return "", monitor.FieldErrorf("cookies", "%v", err)
	}
	r.UploadedAt = s.now()
	kept, sources := monitor.KeepCookies(all)
	for _, source := range sources {
		r.SignedIn = r.SignedIn || source.Site().SignedIn(all, r.UploadedAt)
	}
	r.Sources = sources
	text := kept.Text()
	if len(text) > MaxText {
		return "", monitor.FieldErrorf("cookies", "has %d bytes of cookies that are kept; accepted are at most %d", len(text), MaxText)
	}
	r.Cookies = len(kept)
	return text, nil
}

// Check refuses a jar that does not exist, or has no cookie for the source of a stream. An empty name means no jar. Errors:
// *monitor.Error InvalidConfig; the store's.
func (s *Service) Check(ctx context.Context, name string, stream monitor.StreamURL) error {
	if name == "" {
		return nil
	}
	jars, err := s.store.CookieJars(ctx)
	if err != nil {
		return fmt.Errorf("check a cookie jar: %w", err)
	}
	at := slices.IndexFunc(jars, func(r Record) bool { return r.Name == name })
	switch {
	case at < 0:
		return monitor.FieldErrorf("config.cookie_jar", "is %.60q, which is not the name of a cookie jar; an administrator uploads one first", name)
	case stream != "" && !slices.Contains(jars[at].Sources, stream.Source()):
		return monitor.FieldErrorf("config.cookie_jar", "is %.60q, which has no cookie for %s", name, stream.Source())
	}
	return nil
}

// Jar implements intake.CookieJars.
func (s *Service) Jar(ctx context.Context, name string) (*cookie.Jar, error) {
	if name == "" {
		return nil, nil
	}
	jar, err := s.store.CookieJar(ctx, name)
	if err == nil && jar.Version == 0 {
		s.log.Warn("a cookie jar is missing or cannot be decrypted, its streams are watched without cookies: upload it again, or add its key to SECRETS_KEY", "cookie_jar", name)
	}
	return &jar, err
}

// Return implements intake.CookieJars.
func (s *Service) Return(ctx context.Context, source monitor.SourceName, u cookie.Use) (cookie.Jar, error) {
	now, rejected, again := s.now(), false, false
	jar, err := s.store.UseCookieJar(ctx, u.Name, func(jar *cookie.Jar, r *Record) {
		if u.Version == jar.Version { // what was learned of an older version says nothing of this one
			rejected, again = u.Rejected && r.RejectedAt.IsZero(), u.Accepted && !r.RejectedAt.IsZero()
			switch {
			case rejected:
				r.RejectedAt = now
			case u.Accepted:
				r.AcceptedAt, r.RejectedAt = now, time.Time{}
			}
		}
		*jar = source.Site().Renew(*jar, u, monitor.CookieHosts(), now)
	})
	switch {
	case err != nil:
		return cookie.Jar{}, fmt.Errorf("return a cookie jar: %w", err)
	case rejected:
		s.log.Warn("a source no longer accepts the login of a cookie jar, streams that need it are not seen: sign in with a browser, and upload the cookies again", "cookie_jar", u.Name, "source", string(source))
	case again:
		s.log.Info("a source accepts the login of a cookie jar again", "cookie_jar", u.Name, "source", string(source))
	}
	return jar, nil
}
