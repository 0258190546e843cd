package notify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Language is the language of the messages to a destination.
type Language string

// The languages of messages.
const (
	English  Language = "en"
	Japanese Language = "ja"
)

// Destination is a place that gets events or messages about incidents.
type Destination struct {
	ID       string            `json:"destination_id"` // a UUIDv7
	Name     string            `json:"name"`           // unique, 1 to 100 characters
	Kind     Kind              `json:"kind"`
	Language Language          `json:"language"`
	Config   map[string]string `json:"config"`   // the fields that are no secrets
	Secrets  map[string]string `json:"-"`        // the others
	Fallback string            `json:"fallback"` // ID of the destination that gets a notice when this one is disabled; empty: none
	Enabled  bool              `json:"enabled"`

	// SecretsLost is set if this gateway cannot decrypt Secrets. It then sends nothing there.
	SecretsLost bool `json:"-"`

	// DisabledReason says why the gateway has disabled the destination; empty: it has not.
	DisabledReason string `json:"disabled_reason"`

	// PreviousUntil ends a rotation of a webhook's signing key: until then, the key
	// before signs, too. Zero: there is no rotation.
	PreviousUntil time.Time `json:"-"`

	Owner string `json:"owner"` // names the configuration file that manages it; empty: managed by hand
}

// Limits of what a destination, a route and a silence hold.
const (
	MaxName    = 100  // characters of a name
	MaxComment = 500  // characters of a comment
	MaxValue   = 2048 // bytes of a field of a destination
	MaxListed  = 100  // entries of each list
)

// Active reports whether the destination gets anything.
func (d Destination) Active() bool { return d.Enabled && d.DisabledReason == "" }

// GetsEvents reports whether the destination gets events, and no messages.
func (d Destination) GetsEvents() bool {
	c, _ := ChannelOf(d.Kind)
	return c.GetsEvents
}

// GetsHints reports whether a route can lead hints to the destination (section 16.7).
func (d Destination) GetsHints() bool {
	c, _ := ChannelOf(d.Kind)
	return !c.GetsEvents && !c.KeepsAlerts
}

// GetsChannelEvents reports whether a route can lead events of channels to the destination.
func (d Destination) GetsChannelEvents() bool { return d.Active() && (d.GetsEvents() || d.GetsHints()) }

// Edits reports whether messages to the destination can be changed. Slack changes those
// of bots; a Config with a channel has a bot.
func (d Destination) Edits() bool {
	c, _ := ChannelOf(d.Kind)
	return c.Edits && (d.Kind != Slack || d.Config["channel"] != "")
}

// PictureWait returns how long a first message to the destination waits for a picture.
func (d Destination) PictureWait() time.Duration {
	if d.Kind == Slack && d.Edits() {
		return 0
	}
	c, _ := ChannelOf(d.Kind)
	return c.PictureWait
}

// Check returns what is wrong, as *monitor.Error InvalidConfig that each name a field. No
// message has the value of a secret.
func (d Destination) Check() []error { return d.check(true) }

// CheckWithoutSecrets is Check for a destination whose secrets cannot be decrypted: whether
// they are complete is not known.
func (d Destination) CheckWithoutSecrets() []error { return d.check(false) }

func (d Destination) check(secrets bool) (problems []error) {
	problems = checkText(problems, "name", d.Name, 1, MaxName)
	if d.Language != English && d.Language != Japanese {
		problems = addProblem(problems, "language", "is %.20q; accepted is en or ja", d.Language)
	}
	if d.Fallback != "" && d.Fallback == d.ID {
		problems = addProblem(problems, "fallback", "is the destination itself")
	}
	problems = checkOwner(problems, d.Owner)
	channel, ok := ChannelOf(d.Kind)
	if !ok {
		var kinds []string
		for _, c := range channels {
			kinds = append(kinds, string(c.Kind))
		}
		return addProblem(problems, "kind", "is %.20q; accepted is %s", d.Kind, strings.Join(kinds, ", "))
	}
	for _, f := range channel.Fields {
		if secrets || !f.Secret {
			problems = f.accept(problems, d)
		}
	}
	problems = channel.checkUnknown(problems, "config", d.Config, false)
	problems = channel.checkUnknown(problems, "secrets", d.Secrets, true)
	if secrets {
		problems = append(problems, d.checkTogether()...)
	}
	return problems
}

// MovedFrom names the field by which d sends its secrets to another server than before;
// empty: to the same one.
func (d Destination) MovedFrom(before Destination) (field string) {
	if d.Kind != before.Kind {
		return "kind"
	}
	channel, _ := ChannelOf(d.Kind)
	for _, f := range channel.Fields {
		if f.NamesServer && d.Config[f.Name] != before.Config[f.Name] {
			return "config." + f.Name
		}
	}
	return ""
}

// accept checks the value that a destination has for a field.
func (f Field) accept(problems []error, d Destination) []error {
	name, value := "config."+f.Name, d.Config[f.Name]
	if f.Secret {
		name, value = "secrets."+f.Name, d.Secrets[f.Name]
	}
	switch {
	case value == "" && f.Required:
		return addProblem(problems, name, "is missing: %s", f.Words.English.Hint)
	case value == "":
		return problems
	case len(value) > MaxValue:
		return addProblem(problems, name, "is longer than %d bytes", MaxValue)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return addProblem(problems, name, "has control characters or invalid UTF-8")
	case strings.TrimSpace(value) != value:
		return addProblem(problems, name, "begins or ends with a space")
	case f.check == nil:
		return problems
	}
	if why := f.check(value); why != "" {
		return addProblem(problems, name, "%s", why)
	}
	return problems
}

// checkUnknown refuses names that are no field of the channel in this object.
func (c Channel) checkUnknown(problems []error, object string, given map[string]string, secret bool) []error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		n := slices.IndexFunc(c.Fields, func(f Field) bool { return f.Name == name })
		switch {
		case n < 0:
			problems = addProblem(problems, fmt.Sprintf("%s.%.40s", object, name), "is no field of %s", c.Kind)
		case c.Fields[n].Secret && !secret:
			problems = addProblem(problems, "config."+name, "is a secret: give it in secrets")
		case !c.Fields[n].Secret && secret:
			problems = addProblem(problems, "secrets."+name, "is no secret: give it in config")
		}
	}
	return problems
}

// checkTogether checks fields that depend on each other.
func (d Destination) checkTogether() (problems []error) {
	switch d.Kind {
	case Slack:
		bot, channel, webhook := d.Secrets["bot_token"] != "", d.Config["channel"] != "", d.Secrets["webhook_url"] != ""
		if bot != channel || bot == webhook {
			problems = addProblem(problems, "secrets.bot_token", "and config.channel, or secrets.webhook_url are needed, and not both")
		}
	case Email:
		if (d.Config["username"] != "") != (d.Secrets["password"] != "") {
			problems = addProblem(problems, "config.username", "and secrets.password are needed together, or neither")
		}
	}
	return problems
}

func addProblem(problems []error, field, format string, args ...any) []error {
	return append(problems, monitor.FieldErrorf(field, format, args...))
}

func checkText(problems []error, field, text string, shortest, longest int) []error {
	return addError(problems, monitor.CheckText(field, text, shortest, longest))
}

func checkOwner(problems []error, owner string) []error {
	return addError(problems, monitor.CheckLine("owner", owner, 0, monitor.MaxOwner))
}

func addError(problems []error, err error) []error {
	if err != nil {
		return append(problems, err)
	}
	return problems
}
