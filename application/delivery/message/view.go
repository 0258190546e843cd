package message

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stream-monitor/stream-monitor/application/delivery/message/plaintext"
	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/incident"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Limits of what strangers have written, in characters.
const (
	maxTitle  = 60 // of a message
	maxStream = 80 // of the title of a stream
	maxDetail = 160
)

// minDelay is the delay from which a message says that it comes late.
const minDelay = time.Minute

// view is the data of the templates. Times are in the zone of the server.
type view struct {
	Kind string // opened, worse, reopened, acknowledged, recovered, repeated, updated
	Test bool   // an example that a person asked for

	Open             bool
	Severity         int         // of what lasts, 0 to 3; 0 also if nothing does
	PreviousSeverity int         // the severity that the destination knows; below Severity: it has risen
	ResolvedBy       string      // the person who has resolved it; empty: nobody
	Still            bool        // a person has resolved it, and something lasts
	Paused           bool        // it was resolved because its stream was paused, by ResolvedBy
	Conditions       []condition // that last, the worst first; of what is over or quiet, all
	Over             []condition // those that have ended while another lasts
	Quiet            bool        // it is open, and nothing lasts any more
	Handled          bool        // somebody has acknowledged it, and it has not got worse since
	Since            time.Time   // the onset of the worst that lasts; of what is over or quiet, the first one
	Until            time.Time   // when the trouble ended; zero while it lasts
	Lasted           time.Duration
	First            time.Time     // the onset with which the trouble began
	Total            time.Duration // of all trouble since then, without the pauses
	Times            int           // how often there was trouble
	AcknowledgedBy   string
	RepeatAt         time.Time     // when the message is repeated unless somebody acknowledges; zero: never
	Delay            time.Duration // how late the message comes; 0: less than a minute
	Unreachable      bool          // it is late because the destination failed

	Number     string // of the stream, such as 007; empty: none
	Channel    string // name of the channel, or else the video ID or URL; never empty
	Stream     string // title of the stream; may be empty
	Labels     string // of the stream, such as "show: morning, team: a"; may be empty
	Platform   string // the title of the stream's source; empty: streams of several may be meant
	Studio     string // where the broadcasters of the stream look at it; empty: Platform is, or it has none
	SoundWorks bool   // the picture is bad, the sound is not
	VideoWorks bool   // the sound is bad, the picture is not

	Storm bool // of Streams; it has no Channel
	// Streams and Live are those of a storm; Live is 0 if unknown.
	Streams, Live int
	// Unseen is why they cannot be checked: refused, dns, proxy, network, tool, unknown; empty: there is no one reason.
	Unseen        string
	UnseenAddress string // the address that asks; empty: there is no choice, or several do

	Hint string // the kind of the hint that is told: quieter, recurring, late_starts; empty: none is
	// These are the numbers of the hint. PerMinute is in dB. Minutes are those of the trend, or of the least late
	// start. Count is how often the condition Main came back, or how many streams began late.
	PerMinute             float64
	Minutes, LatestMinute int
	Count                 int

	// Channels is what is told of channels of streams: found, unreadable or readable; empty: nothing. News has the first of
	// Count.
	Channels string
	News     []news

	Login string // name of the login of an owner that is rejected, for LastError; empty: this is no notice of it

	Disabled string // name of the destination that was disabled; empty: this is no notice of it
	// Cause is gone or failed_for_days (since FailingSince).
	Cause        string
	FailingSince time.Time
	LastError    string // in the words of the channel; may be empty
}

// news is what is told of one channel of streams. Start is zero for a stream that is live; Until is zero while the channel
// cannot be read.
type news struct {
	Channel, Stream, Detail string
	Start, Since, Until     time.Time
	Watched, NoRoom         bool
}

// condition is one kind of trouble.
type condition struct {
	Name   string        // late, no_media, blind, error, or that of a detector, such as black
	Since  time.Time     // the newest onset
	Lasted time.Duration // since then
	Total  time.Duration // of all its spans
	Times  int           // how many they are
	Detail string        // what a tool or a server said; empty: nothing
	Denial string        // why the own server of the stream refuses its credentials: denied, token, access_denied; empty: it does not
	New    bool          // the destination has not been notified of it

	Opinion string // what a second opinion says of it, in the words of whoever gave it; empty: nothing

	Cause, Remedy string // by the encoder's signal: the likely cause, and what to do about it; empty: nothing explains it
}

// Lasts reports whether something lasts.
func (v view) Lasts() bool { return v.Open && !v.Quiet || v.Still }

// Main returns the name of the worst condition, or "" if none lasts.
func (v view) Main() string {
	if len(v.Conditions) == 0 {
		return ""
	}
	return v.Conditions[0].Name
}

// Detail returns the first detail that a tool or a server gave.
func (v view) Detail() string {
	for _, c := range v.Conditions {
		if c.Detail != "" {
			return c.Detail
		}
	}
	return ""
}

// Denial returns the first refusal of the stream's credentials.
func (v view) Denial() string {
	for _, c := range v.Conditions {
		if c.Denial != "" {
			return c.Denial
		}
	}
	return ""
}

// Opinion returns the first second opinion that says something.
func (v view) Opinion() string {
	for _, c := range v.Conditions {
		if c.Opinion != "" {
			return c.Opinion
		}
	}
	return ""
}

// Explained returns the first condition of which a likely cause is known, else one with an empty Cause.
func (v view) Explained() condition {
	for _, c := range v.Conditions {
		if c.Cause != "" {
			return c
		}
	}
	return condition{}
}

// Blind reports whether all that is known is that the stream cannot be checked.
func (v view) Blind() bool {
	return !v.Quiet && len(v.Conditions) > 0 && !slices.ContainsFunc(v.Conditions, func(c condition) bool { return c.Name != string(incident.Blind) })
}

// InStudio returns words of a detector with the name of the studio, or else what it is called in general.
func (v view) InStudio(words, otherwise string) string {
	return strings.ReplaceAll(words, "{studio}", cmp.Or(v.Studio, otherwise))
}

// newView returns the data of a message of a kind.
func newView(f Facts, step notify.NextMessage, zone *time.Location) view {
	s := f.Situation
	v := view{
		Kind: string(step.Kind), Test: f.Test, Open: s.Open, Severity: s.SeverityNow, PreviousSeverity: s.SeverityNow,
		AcknowledgedBy: clean(s.AcknowledgedBy, maxStream), Handled: s.Handled(), Since: s.OpenedAt.In(zone),
	}
	if len(monitor.Sources) == 1 {
		v.nameSource(monitor.Sources[0], f.Language)
	}
	if f.Notified.Opened {
		v.PreviousSeverity = min(f.Notified.Known.Severity, s.SeverityNow)
	}
	if f.Delay >= minDelay {
		v.Delay, v.Unreachable = f.Delay, f.Unreachable
	}
	pushed := f.Notified.Sounds.Newest
	if step.Push {
		pushed = f.Now
	}
	if f.Repeat > 0 && s.Open && len(s.Conditions) > 0 && !s.Handled() && !pushed.IsZero() {
		v.RepeatAt = pushed.Add(max(f.Repeat, notify.PushInterval)).In(zone)
	}
	end := f.Now
	if !s.Open && !s.ResolvedAt.IsZero() {
		v.Until, end = s.ResolvedAt.In(zone), s.ResolvedAt
	}
	switch {
	case f.Incident != nil:
		v.addIncident(*f.Incident, f.Notified, f.Language, f.Now, zone)
	case f.Storm != nil:
		v.Storm, v.Streams, v.Live = true, f.Storm.Streams, f.Storm.Live
		if b := f.Storm.BlindSpot; b != nil && b.Class != nil {
			v.Unseen = string(*b.Class)
			if b.Egress != nil {
				v.UnseenAddress = clean(*b.Egress, maxStream)
			}
		}
		v.Quiet = v.Open && len(s.Conditions) == 0
		for _, name := range s.Conditions {
			v.Conditions = append(v.Conditions, condition{Name: string(name), Since: v.Since, Lasted: end.Sub(s.OpenedAt)})
		}
		if v.Blind() && f.Storm.BlindSpot != nil {
			v.Since = f.Storm.BlindSpot.Since.In(zone) // long before anybody was told
		}
		if len(v.Conditions) == 0 && f.Storm.Condition != "" {
			v.Conditions = []condition{{Name: string(f.Storm.Condition)}}
		}
	case f.Notice != nil && f.Notice.Hint != nil:
		v.Open = true
		v.addHint(*f.Notice.Hint, zone)
	case f.Notice != nil && f.Notice.Channel != nil:
		v.Open = f.Notice.Channel.EventType != event.ChannelReadable
		if f.Notice.Channel.EventType == event.ChannelUnreadable {
			v.Severity, v.PreviousSeverity = 2, 2
		}
		v.addChannels(*f.Notice.Channel, zone)
	case f.Notice != nil:
		v.Open, v.Severity, v.PreviousSeverity = true, 2, 2
		v.addNotice(*f.Notice, zone)
	}
	if f.Incident == nil {
		v.Lasted = max(0, end.Truncate(time.Second).Sub(v.Since.Truncate(time.Second))) // as the clocks show it
	}
	return v
}

// addHint adds what only a hint has.
func (v *view) addHint(h Hint, zone *time.Location) {
	v.Hint, v.Since, v.Number = string(h.Kind), h.Since.In(zone), streamNumber(h.Number)
	v.Channel, v.Stream = streamNames(h.StreamURL, map[string]string{"channel_name": h.ChannelName, "stream_title": h.StreamTitle})
	whole := func(name string) int { return int(h.Numbers[name]) }
	switch h.Kind {
	case monitor.Quieter:
		v.PerMinute, v.Minutes = h.Numbers["db_per_minute"], whole("minutes")
	case monitor.Recurring:
		v.Count, v.Conditions = whole("times"), []condition{{Name: string(h.Condition)}}
	case monitor.LateStarts:
		v.Count, v.Minutes, v.LatestMinute = whole("streams"), whole("min_late_sec")/60, whole("max_late_sec")/60
	}
}

// addChannels adds what only a notice about channels of streams has.
func (v *view) addChannels(n ChannelNotice, zone *time.Location) {
	v.Channels = map[event.Type]string{event.StreamFound: "found", event.ChannelUnreadable: "unreadable", event.ChannelReadable: "readable"}[n.EventType]
	v.Count = n.Count
	in := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		return t.In(zone)
	}
	for _, c := range n.Channels {
		v.News = append(v.News, news{
			clean(c.Channel, maxStream), clean(cmp.Or(c.Stream, string(c.StreamURL)), maxStream), clean(c.Detail, maxDetail),
			in(c.Start), in(c.Since), in(c.Until), c.Watched, c.NoRoom,
		})
	}
	if len(v.News) > 0 {
		v.Channel, v.Stream, v.Since = v.News[0].Channel, v.News[0].Stream, v.News[0].Since
	}
}

// More returns how many news the message leaves out.
func (v view) More() int { return max(0, v.Count-len(v.News)) }

// streamNumber writes the number of a stream; empty: it has none.
func streamNumber(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("%03d", n)
}

// addNotice adds what only the notice of a disabled destination, or of a rejected login, has.
func (v *view) addNotice(n Notice, zone *time.Location) {
	v.Disabled, v.Login, v.Since = clean(n.Destination, maxStream), clean(n.Login, maxStream), n.At.In(zone)
	v.Cause, v.LastError, v.FailingSince = string(n.Cause), clean(n.LastError, maxDetail), n.FailingSince.In(zone)
}

// nameSource names the source of the streams, and its studio.
func (v *view) nameSource(s monitor.Source, language notify.Language) {
	v.Platform, v.Studio = s.Title, s.Studio
	if language == notify.Japanese {
		v.Studio = cmp.Or(s.StudioJa, s.Studio)
	}
}

// addIncident adds what only an incident has.
func (v *view) addIncident(i notify.StreamIncident, notified notify.Notified, language notify.Language, now time.Time, zone *time.Location) {
	v.Number = streamNumber(i.Number)
	v.Channel, v.Stream = streamNames(i.StreamURL, i.Metadata)
	v.Labels = labelText(i.Labels)
	v.nameSource(monitor.SourceOf(i.StreamURL), language)
	bad := map[incident.Name]bool{}
	v.Quiet, v.Still, v.ResolvedBy = v.Open && !i.Lasts(), !v.Open && i.Lasts(), clean(i.ResolvedBy, maxStream)
	v.Paused = !v.Open && i.ResolvedByPause
	for _, c := range i.Conditions {
		shown := shownCondition(c, notified, language, now, zone)
		if v.Lasts() && !c.Lasts() {
			v.Over = append(v.Over, shown)
			continue
		}
		bad[c.Name] = true
		v.Conditions = append(v.Conditions, shown)
	}
	slices.SortStableFunc(v.Conditions, func(a, b condition) int { return cmp.Compare(rank(a.Name), rank(b.Name)) })
	v.addTimes(i, now, zone)
	v.addWorking(bad, i.Good)
}

// addWorking adds which track works while only the other one is bad. good are the lanes that are.
func (v *view) addWorking(bad map[incident.Name]bool, good []string) {
	tracks := map[detector.Track]bool{}
	for name := range bad {
		d, detected := detector.Of(name)
		if !detected {
			return
		}
		tracks[d.Track] = true
		if d.Needs&detector.Tone != 0 {
			tracks[detector.Audio] = true // its sound may be a tone, which is not fine
		}
	}
	works := func(track, other detector.Track) bool {
		return v.Open && !v.Quiet && tracks[other] && !tracks[track] && slices.Contains(good, string(track))
	}
	v.SoundWorks, v.VideoWorks = works(detector.Audio, detector.Video), works(detector.Video, detector.Audio)
}

// shownCondition returns what messages tell of a condition.
func shownCondition(c incident.Condition, notified notify.Notified, language notify.Language, now time.Time, zone *time.Location) condition {
	end := now
	if !c.Lasts() {
		end = c.EndedAt
	}
	spans := clockSpans(c.Spans)
	shown := condition{
		Name: string(c.Name), Since: c.LastStartedAt.In(zone), Lasted: max(0, end.Sub(c.LastStartedAt)),
		Total: incident.Total(spans, now.Truncate(time.Second)), Times: len(spans), New: !notified.Knows(c.Name),
	}
	if c.Alert != nil {
		shown.Detail = clean(cmp.Or(c.Alert.Detail, c.Alert.Reason), maxDetail)
		switch c.Alert.Reason {
		case event.FailedDenied, event.FailedToken, event.ReasonAccessDenied:
			shown.Denial = c.Alert.Reason
		}
		shown.Opinion = clean(shownOpinion(c.Alert.Opinion), maxDetail)
		if c.Alert.Cause != nil {
			words := c.Alert.Cause.Words().In(string(language))
			shown.Cause, shown.Remedy = clean(words.Says, maxDetail), clean(words.Do, maxDetail)
		}
	}
	return shown
}

// shownOpinion returns what a second opinion says beyond that it is trouble; empty: nothing.
func shownOpinion(o *incident.Opinion) string {
	switch {
	case o == nil:
		return ""
	case o.Verdict == incident.OpinionKeep:
		return o.Reason
	case o.Verdict != incident.OpinionLabel:
		return ""
	}
	said := fmt.Sprintf("%s (%.0f %%)", o.Label, 100*o.Confidence)
	if o.Reason != "" {
		said += ": " + o.Reason
	}
	return said
}

// addTimes adds when there was trouble, and how much.
func (v *view) addTimes(i notify.StreamIncident, now time.Time, zone *time.Location) {
	spans, now := clockSpans(i.Conditions.Trouble()), now.Truncate(time.Second)
	if len(spans) == 0 {
		return
	}
	if i.State == incident.Resolved && !v.Still {
		now = i.ResolvedAt.Truncate(time.Second)
	}
	v.First, v.Total, v.Times = spans[0].StartedAt.In(zone), incident.Total(spans, now), len(spans)
	if !v.Lasts() { // it is resolved later, when all has been well for a while
		v.Since, v.Until, v.Lasted = v.First, cmp.Or(spans[len(spans)-1].EndedAt, now).In(zone), v.Total
	} else {
		v.Since = v.Conditions[0].Since
		v.Lasted = max(0, now.Sub(v.Since.Truncate(time.Second)))
	}
}

// clockSpans returns spans in whole seconds, as clocks show them.
func clockSpans(all []incident.Span) []incident.Span {
	all = slices.Clone(all)
	for n, s := range all {
		all[n] = incident.Span{StartedAt: s.StartedAt.Truncate(time.Second), EndedAt: s.EndedAt.Truncate(time.Second)}
	}
	return all
}

// rank orders conditions: the one that says most about the others comes first. Those of detectors
// are in the order of their table.
func rank(name string) int {
	order := []incident.Name{incident.Error, incident.NoMedia}
	for _, d := range detector.Table {
		order = append(order, d.Condition)
	}
	if at := slices.Index(order, incident.Name(name)); at >= 0 {
		return at
	}
	return len(order) + slices.Index([]incident.Name{incident.Late, incident.Blind}, incident.Name(name))
}

// labelText returns labels by name.
func labelText(labels monitor.Labels) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, name+": "+labels[name])
	}
	return clean(strings.Join(all, ", "), maxDetail)
}

// StreamName returns what titles call a stream: its number, and its channel, or else its title or its address. number 0: none.
func StreamName(number int, u monitor.StreamURL, metadata map[string]string) string {
	channel, _ := streamNames(u, metadata)
	return strings.TrimSpace(streamNumber(number) + " " + channel)
}

// streamNames returns what names a stream: the names of its metadata, or else its address.
func streamNames(u monitor.StreamURL, metadata map[string]string) (channel, stream string) {
	channel, stream = clean(metadata["channel_name"], maxStream), clean(metadata["stream_title"], maxStream)
	if channel == "" {
		channel, stream = stream, ""
	}
	if channel == "" {
		channel = clean(strings.TrimPrefix(u.Page(), "https://"), maxStream)
		if parsed, err := url.Parse(string(u)); err == nil && parsed.Query().Get("v") != "" {
			channel = clean(parsed.Query().Get("v"), maxStream)
		}
	}
	return channel, stream
}

// clean returns a stranger's text on one line, cut to so many characters.
func clean(s string, most int) string {
	return plaintext.Cut(plaintext.Clean(s), most, utf8.RuneCountInString)
}
