package access

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// RootName is the name of API_KEY in the audit list.
const RootName = "API_KEY"

// maxName is the length of a key's name, in characters.
const maxName = 100

// Key is an API key of a person or a program, without its secret.
type Key struct {
	ID         string // UUIDv7; empty: Root
	Name       string
	Role       Role
	CreatedBy  string // name of the key that created it
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	RevokedAt  time.Time // zero: it is not revoked
	LastUsedAt time.Time // to the minute; zero: never
}

// Root is API_KEY (section 12.4).
var Root = Key{Name: RootName, Role: Admin}

// IsRoot reports whether the key is API_KEY.
func (k Key) IsRoot() bool { return k.ID == "" }

// State says whether a key is accepted.
type State string

// The states of a key. Only an active one is accepted.
const (
	Active  State = "active"
	Expired State = "expired"
	Revoked State = "revoked"
)

// State returns the state of the key at a time.
func (k Key) State(now time.Time) State {
	switch {
	case !k.RevokedAt.IsZero():
		return Revoked
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return Expired
	}
	return Active
}

// Check returns what is wrong with a key that shall be created now. Errors: *monitor.Error
// InvalidConfig, one for each wrong field.
func (k Key) Check(now time.Time) (problems []error) {
	refuse := func(format string, args ...any) {
		problems = append(problems, monitor.Errorf(monitor.InvalidConfig, format, args...))
	}
	length := utf8.RuneCountInString(k.Name)
	switch {
	case length < 1 || length > maxName || strings.ContainsFunc(k.Name, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.TrimSpace(k.Name) != k.Name:
		refuse("name is %.120q; accepted are 1 to %d printable characters without spaces around them", k.Name, maxName)
	case k.Name == RootName:
		refuse("name is %q, which is the name of the key in the configuration; accepted is another one", k.Name)
	}
	if !k.Role.valid() {
		refuse("role is %.40q; accepted are view, operate, admin", string(k.Role))
	}
	if !k.ExpiresAt.IsZero() && (!k.ExpiresAt.After(now) || k.ExpiresAt.Year() > 9999) {
		refuse("expires_at is over or after the year 9999; accepted is a time after now, or null")
	}
	return problems
}
