package channel

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

// Limits of what is kept of a channel.
const (
	MaxStreams  = 200                 // that were found and are not watched, the newest
	KeptUnseen  = 30 * 24 * time.Hour // a stream that is not watched, since it was seen last
	maxTitle    = 400                 // bytes of a title
	maxMetadata = monitor.MaxMetadata - 2<<10
)

// Channel is a registered channel with what was found of it. The same inputs at the same times make the same of it.
//
//	Listing ─▶ Read ─┐                ┌─▶ Tasks ─▶ Stopped, Changed
//	Failure ─▶ Fail ─┴─▶ Streams, ────┼─▶ Candidates whose AskAt has come ─▶ Resolved
//	                     Reading      ├─▶ Candidates that are Wanted ─▶ Registered, NoRoom, Refused
//	                                  └─▶ Events
type Channel struct {
	ID        string // a UUIDv7 of ours
	Address   Address
	SourceID  string // of the source, such as UC…; empty: not known yet, or it is a place
	Handle    string
	Title     string
	Template  Template
	Owner     string // the file that keeps it (section 19.8); empty: none
	CreatedAt time.Time
	StoppedAt time.Time // zero: it is watched
	PushedAt  time.Time // when the source pushed last that a stream begins; zero: never (decision S28)
	Reading   Reading
	Streams   []Found // the newest first
}

// Reading is how the page of a channel was read, and when it is read again.
type Reading struct {
	NextAt          time.Time   `json:"-"`
	ReadAt          time.Time   `json:"read_at,omitzero"` // when it was read last; zero: never
	By              string      `json:"by,omitempty"`     // Listing.By of that time
	Failures        int         `json:"failures,omitempty"`
	FailingSince    time.Time   `json:"failing_since,omitzero"` // the first of these; zero: none
	LastFailure     FailureKind `json:"last_failure,omitempty"`
	LastError       string      `json:"last_error,omitempty"`
	UnreadableSince time.Time   `json:"unreadable_since,omitzero"` // since when it cannot be read, once that was told; zero: it was not
	OpinionAt       time.Time   `json:"opinion_at,omitzero"`       // when somebody else was asked last about an empty or strange answer
	Starts          []time.Time `json:"starts,omitempty"`          // of the newest streams, by which the usual hours are learned
}

// Template is what each stream of a channel is registered with.
type Template struct {
	CallbackURL monitor.CallbackURL
	Config      monitor.Config  // without scheduled times
	Metadata    json.RawMessage // a JSON object
	Labels      monitor.Labels
	Jar         string // the name of a jar of cookies; empty: none, and streams for members are skipped
}

// MaxJarName is the most characters of the name of a jar.
const MaxJarName = 60

// Check returns an error for each field that is wrong. The times of the streams come from the source.
func (t Template) Check() (refused []error) {
	refused = t.Config.Check()
	for field, at := range map[string]*time.Time{"config.scheduled_start_time": t.Config.ScheduledStartTime, "config.scheduled_end_time": t.Config.ScheduledEndTime} {
		if at != nil {
			refused = append(refused, monitor.FieldErrorf(field, "is given; the times of its streams come from the channel, so leave it out"))
		}
	}
	if t.Config.HeaderNames != "" {
		refused = append(refused, monitor.FieldErrorf("config.http_headers", "is given; the streams of a channel carry none"))
	}
	if t.Config.HasTokenURL || t.Config.CopyQuery {
		refused = append(refused, monitor.FieldErrorf("config.token_url", "or config.copy_query is given; the streams of a channel have no token"))
	}
	if t.Config.CookieJar != "" {
		refused = append(refused, monitor.FieldErrorf("config.cookie_jar", "is given; a channel has cookie_jar beside its config"))
	}
	if _, err := monitor.CheckMetadata(t.Metadata); err != nil {
		refused = append(refused, err)
	} else if len(t.Metadata) > maxMetadata {
		refused = append(refused, monitor.FieldErrorf("metadata", "is %d bytes long; accepted are %d, because names of channel and stream are added", len(t.Metadata), maxMetadata))
	}
	refused = append(refused, t.Labels.Check("labels")...)
	if t.Jar != "" {
		refused = append(refused, monitor.CheckLine("cookie_jar", t.Jar, 1, MaxJarName))
	}
	return slices.DeleteFunc(refused, func(err error) bool { return err == nil })
}

// Differences compares two templates.
func (t Template) Differences(after Template) []monitor.Difference {
	registered := func(t Template) monitor.Monitor {
		return monitor.Monitor{CallbackURL: t.CallbackURL, Config: t.Config, Metadata: t.Metadata, Labels: t.Labels}
	}
	all := monitor.Differences(registered(t), registered(after))
	if t.Jar != after.Jar {
		all = append(all, monitor.DifferenceOf("cookie_jar", t.Jar, after.Jar))
	}
	return all
}

// metadataOf returns the metadata of the monitor of a stream: those of the template, with the names of channel and stream
// where the template has none.
func (c Channel) metadataOf(f Found) json.RawMessage {
	fields := readMetadata(c.Template.Metadata)
	for name, text := range map[string]string{"channel_name": c.Title, "stream_title": f.Title} {
		if _, given := fields[name]; !given && text != "" {
			fields[name] = encode(text)
		}
	}
	return encode(fields)
}

// Retitled returns the metadata of a monitor with the new title of its stream, if they have the former one.
func Retitled(metadata json.RawMessage, before, after string) (changed json.RawMessage, ok bool) {
	fields := readMetadata(metadata)
	var now string
	if json.Unmarshal(fields["stream_title"], &now) != nil || now != before || before == after {
		return nil, false
	}
	fields["stream_title"] = encode(after)
	changed = encode(fields)
	return changed, len(changed) <= monitor.MaxMetadata
}

func readMetadata(raw json.RawMessage) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &fields) // it was checked when it was registered
	return fields
}

// encode writes texts, and fields that were read, neither of which fails.
func encode(v any) json.RawMessage {
	raw, err := wire.Encode(v)
	if err != nil {
		return nil
	}
	return raw
}

// cleanTitle returns a title as it is stored.
func cleanTitle(s string) string { return monitor.StorableText(monitor.CleanLine(s), maxTitle) }

// find returns the index of a stream in Streams; -1: it was not found.
func (c Channel) find(url monitor.StreamURL, broadcast string) int {
	return slices.IndexFunc(c.Streams, func(f Found) bool { return f.URL == url && f.Broadcast == broadcast })
}
