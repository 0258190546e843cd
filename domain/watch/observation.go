package watch

import (
	"fmt"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/detector"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Observation is the result of a Task, which may be a failure. Only the types of
// this file implement it.
type Observation interface{ kind() TaskKind }

// StreamState is the state of a stream as the resolver of its source reports it (section
// 7.2).
type StreamState string

// The states of a stream. Those from ManifestFound on leave it unknown.
const (
	Live           StreamState = "live"                 // is_live; without Renditions and Manifest the encoder sends nothing
	Upcoming       StreamState = "upcoming"             // scheduled, a premiere, or "will begin in"
	Offline        StreamState = "offline"              // its page lists it as live, but the encoder is not connected; in Monitoring Mode it counts as live
	Ended          StreamState = "ended"                // was live: post_live, was_live
	NotALiveStream StreamState = "not_a_live_stream"    // an ordinary video
	Private        StreamState = "private"              // section 7.2
	Removed        StreamState = "removed"              // section 7.2
	RegionLocked   StreamState = "region_locked"        // cannot be seen from here
	AgeRestricted  StreamState = "age_restricted"       // needs a signed-in adult
	MembersOnly    StreamState = "members_only"         // needs a membership
	Denied         StreamState = "denied"               // the stream's own server refuses the credentials of its owner; in Monitoring Mode it counts as live (section 5.7)
	ServerDown     StreamState = "server_down"          // the stream's own server refuses connections or breaks them off; as Upcoming (section 5.7)
	ManifestFound  StreamState = "manifest_found"       // a fallback found a manifest; nobody knows whether the stream is live
	Blocked        StreamState = "blocked"              // bot check, captcha, 403: the source refuses the address; unknown
	RateLimited    StreamState = "rate_limited"         // 429: too many questions from the address; unknown
	NameUnresolved StreamState = "name_unresolved"      // DNS knows no address of the source, or does not answer: unknown
	ProxyFailed    StreamState = "proxy_failed"         // the proxy cannot be reached, or refuses: unknown
	Unreachable    StreamState = "unreachable"          // no other way: firewall, TLS, timeout, 5xx: unknown
	ToolFailed     StreamState = "tool_failed"          // the tool is missing, was killed or printed rubbish: unknown
	LoginLost      StreamState = "login_lost"           // needs the login of a cookie jar that the source no longer accepts (section 17.7): unknown
	CircuitOpen    StreamState = "circuit_breaker_open" // not asked (section 10.3): unknown
)

// Known reports whether the stream's state is known.
func (s StreamState) Known() bool {
	switch s {
	case ManifestFound, Blocked, RateLimited, NameUnresolved, ProxyFailed, Unreachable, ToolFailed, LoginLost, CircuitOpen, "":
		return false
	}
	return true
}

// Refused reports whether the source refuses to answer the address that asks.
func (s StreamState) Refused() bool { return s == Blocked || s == RateLimited }

// Resolution answers TaskResolve (sections 5.1, 7.4).
type Resolution struct {
	Began       time.Time      `json:"began"` // when the task began
	State       StreamState    `json:"state"`
	Source      string         `json:"source"`               // the tool, e.g. yt-dlp
	Detail      string         `json:"detail,omitempty"`     // from the tool, one line, without a signed URL
	Renditions  []Rendition    `json:"renditions,omitempty"` // media playlists, when the tool lists them
	Manifest    string         `json:"manifest,omitempty"`   // master playlist, used when Renditions is empty
	Expires     time.Time      `json:"expires,omitzero"`     // by the server's clock, from when on it refuses these URLs; zero: unknown
	Lifetime    time.Duration  `json:"lifetime,omitempty"`   // for which such URLs work, if they do not say until when; 0: unknown
	Egress      string         `json:"egress,omitempty"`     // the address that asked, and to which these URLs are bound (decision O8); empty: there is no choice
	Header      *RequestHeader `json:"-"`                    // that the requests for these URLs carry; nil: none
	ActualStart time.Time      `json:"actual_start,omitzero"`
	Broadcast   string         `json:"broadcast,omitempty"` // which of the broadcasts that come and go under the stream's URL; empty: unknown, or there is one only
	Returns     time.Duration  `json:"returns,omitempty"`   // within which a broadcast that was gone may go on (monitor.Source.Returns)

	// For people who register the stream; the watcher does not use them.
	Title          string    `json:"title,omitempty"`
	Channel        string    `json:"channel,omitempty"`
	ScheduledStart time.Time `json:"scheduled_start,omitzero"` // of an upcoming stream; only that of the rules decides what is late (S13)
}

// ProbeResult answers TaskProbe (section 7.4, method 2).
type ProbeResult struct {
	Began  time.Time `json:"began"`
	Known  bool      `json:"known"`            // false: the question was not answered
	Exists bool      `json:"exists"`           // when Known
	Detail string    `json:"detail,omitempty"` // one line: who was asked, and what it answered, e.g. its HTTP status
}

// Rendition is one quality of a stream, as a master playlist or yt-dlp lists it.
// HasVideo and HasAudio are true unless the list says otherwise.
type Rendition struct {
	URL       string `json:"url"` // of its media playlist
	Height    int    `json:"height,omitempty"`
	Bandwidth int    `json:"bandwidth,omitempty"` // bits per second; 0: unknown
	HasVideo  bool   `json:"has_video"`
	HasAudio  bool   `json:"has_audio"`
	Alternate bool   `json:"alternate,omitempty"` // another sound than the stream's own, for example a translation

	// HasCaptions says that captions are declared in the packets of the picture. A rendition without picture
	// and sound has them as the text of its own segments (WebVTT, TTML).
	HasCaptions bool `json:"has_captions,omitempty"`

	copy int // quality.Copy
}

// Playlist answers TaskPlaylist. A master playlist has Renditions, a media
// playlist Segments, and a failed reading neither.
type Playlist struct {
	Began          time.Time     `json:"began"`
	URL            string        `json:"url"`
	Failure        *Failure      `json:"failure,omitempty"`
	Renditions     []Rendition   `json:"renditions,omitempty"`
	Segments       []Segment     `json:"segments,omitempty"` // oldest first; the newest is the last
	TargetDuration time.Duration `json:"target_duration,omitempty"`
	Ended          bool          `json:"ended,omitempty"`  // EXT-X-ENDLIST (section 7.6)
	Defect         string        `json:"defect,omitempty"` // the first entry that was left out or repaired, and why; it has no URL
}

// plausibleSegments returns the segments with plausible durations. A duration above
// maxSegmentRatio target durations becomes one target duration (RFC 8216, 4.3.3.1).
// Otherwise two black seconds could count as forty.
func (p Playlist) plausibleSegments() []Segment {
	segments := slices.Clone(p.Segments)
	for i := range segments {
		if p.TargetDuration > 0 && segments[i].Duration > maxSegmentRatio*p.TargetDuration {
			segments[i].Duration = p.TargetDuration
		}
	}
	return segments
}

// Segment is one entry of a media playlist.
type Segment struct {
	URI           string         `json:"uri"`                      // absolute
	Mirrors       []string       `json:"mirrors,omitempty"`        // other URLs of the same bytes, to be tried in order
	Sequence      uint64         `json:"sequence"`                 // media sequence number; of DASH, $Time$ or else $Number$; 0 tells nothing
	Unnumbered    bool           `json:"unnumbered,omitempty"`     // the manifest states no number; Sequence counts from the first entry listed
	Discontinuity uint64         `json:"discontinuity,omitempty"`  // discontinuity sequence number; 0 if the playlist states none
	Duration      time.Duration  `json:"duration"`                 // EXTINF
	ProgramTime   time.Time      `json:"program_time,omitzero"`    // EXT-X-PROGRAM-DATE-TIME of its first frame, from the playlist or extrapolated (RFC 8216, 4.3.2.6); zero: unknown
	TimeEstimated bool           `json:"time_estimated,omitempty"` // the watcher placed it by the time of the reading, because the manifest states no ProgramTime
	Range         *ByteRange     `json:"range,omitempty"`          // EXT-X-BYTERANGE
	Init          *Init          `json:"init,omitempty"`           // EXT-X-MAP
	Key           *Key           `json:"key,omitempty"`            // EXT-X-KEY; nil: not encrypted
	Egress        string         `json:"egress,omitempty"`         // the address through which its playlist was read
	Header        *RequestHeader `json:"-"`                        // with which its playlist was read
	Ad            bool           `json:"ad,omitempty"`             // not the broadcaster's media, but an advertisement of the site: neither good nor bad
	Container     string         `json:"container,omitempty"`      // mpegts, mp4, aac, mp3, ogg; empty: the analyser detects it
}

// ID names the resource of a segment: its URI and, if it is a part of that resource, its
// byte range. The same segment may have another ID in the next reading (decision S5).
func (s Segment) ID() string {
	if s.Range == nil {
		return s.URI
	}
	return fmt.Sprintf("%s@%d+%d", s.URI, s.Range.Offset, s.Range.Length)
}

// Init is the initialisation section of a segment (EXT-X-MAP).
type Init struct {
	URI     string     `json:"uri"`
	Mirrors []string   `json:"mirrors,omitempty"` // one for each of the segment's
	Range   *ByteRange `json:"range,omitempty"`
	Key     *Key       `json:"key,omitempty"` // nil: not encrypted
}

// Key is the key of an encrypted segment or initialisation section. The whole
// resource is encrypted with AES-128 in CBC mode and PKCS7 padding (RFC 8216,
// 4.3.2.4).
type Key struct {
	URI string `json:"uri"` // absolute; the resource has the 16 bytes of the key
	IV  []byte `json:"iv"`  // 16 bytes, from the playlist or from the sequence number (RFC 8216, 5.2)
}

// ByteRange is a part of a resource.
type ByteRange struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
}

// Analysis answers TaskSegment.
type Analysis struct {
	Began   time.Time             `json:"began"`
	Segment string                `json:"segment"`           // its ID
	Failure *Failure              `json:"failure,omitempty"` // the segment could not be fetched or decoded
	Video   detector.DecodedTrack `json:"video"`
	Audio   detector.DecodedTrack `json:"audio"`

	// Intervals are the bad parts that the analyser found for each detector without a Rule, by its
	// name. Times count from the first timestamp of the segment. An interval that lasts until the
	// end of its track has the track's To.
	Intervals map[detector.Name][]detector.Interval `json:"intervals,omitempty"`

	// Measured is what the other detectors judge (Task.Measure).
	Measured detector.Measured `json:"measured,omitzero"`

	// Measures are luma and sound level, about one a second, in order. The watcher
	// decides nothing by them; they are for the record.
	Measures []Measure `json:"measures,omitempty"`
}

// RenditionLook answers TaskRendition. Analysis is that of the newest segment of a media playlist, of which
// the analyser has decoded key frames alone; nil: nothing was decoded.
type RenditionLook struct {
	Playlist Playlist  `json:"playlist"`
	Analysis *Analysis `json:"analysis,omitempty"`
	Text     bool      `json:"text,omitempty"` // of the task's Look
}

// Tick answers TaskWake.
type Tick struct{}

// ClockStep says that the machine's clock was set while the watcher ran. By is the
// clock's new time minus the time that the monotonic clock predicted.
type ClockStep struct {
	By time.Duration `json:"by"` // negative: the clock was set back
}

// OfficialState says what the official API of the stream's source has answered (decision S23).
type OfficialState struct {
	Status  monitor.StreamStatus `json:"status"`   // monitor.StreamUnknown: it does not know the stream, or tells no state of it
	AskedAt time.Time            `json:"asked_at"` // by the worker's clock
}

// IngestState says whether data arrive from the encoder, as the source tells the owner of the stream (decision S24).
type IngestState struct {
	NoData  bool      `json:"no_data"`  // the broadcast is live, and the encoder sends nothing
	AskedAt time.Time `json:"asked_at"` // by the worker's clock
}

// RulesChanged says that a caller has changed the monitor's configuration (section
// 16.6). The watch goes on by the new rules. Open conditions keep their onset and their alert. So a lower
// threshold alerts at the next check that is still bad, and a higher one revokes nothing. Checks and
// thresholds have no stored times, so their next moments follow from the new rules.
type RulesChanged struct {
	Rules Rules `json:"rules"`
}

// expiresAt returns from when on the server refuses the URLs; zero: unknown.
func (o Resolution) expiresAt() time.Time {
	if o.Expires.IsZero() && o.Lifetime > 0 {
		return o.Began.Add(o.Lifetime)
	}
	return o.Expires
}

// hasMedia reports whether the answer has the URL of any media.
func (o Resolution) hasMedia() bool { return len(o.Renditions) > 0 || o.Manifest != "" }

func (Resolution) kind() TaskKind    { return TaskResolve }
func (ProbeResult) kind() TaskKind   { return TaskProbe }
func (Playlist) kind() TaskKind      { return TaskPlaylist }
func (Analysis) kind() TaskKind      { return TaskSegment }
func (RenditionLook) kind() TaskKind { return TaskRendition }
func (Tick) kind() TaskKind          { return TaskWake }
func (ClockStep) kind() TaskKind     { return clockStep }
func (RulesChanged) kind() TaskKind  { return rulesChanged }
func (OfficialState) kind() TaskKind { return officialState }
func (IngestState) kind() TaskKind   { return ingestState }

// FailureKind classifies a failure. A failure of the media in last_error begins
// with its kind.
type FailureKind string

// The kinds of failure of the media lane.
const (
	FailureNetwork     FailureKind = "network"      // DNS, connect, reset, timeout, 5xx
	FailureExpired     FailureKind = "expired"      // 404, 410: the server does not have what the URL names
	FailureRefused     FailureKind = "refused"      // 401, 403: the server refuses the URL, or whoever asks for it
	FailureDenied      FailureKind = "denied"       // 401, 403, and 410 with credentials, of a stream of one's own: its server refuses them (section 5.7)
	FailureToken       FailureKind = "token"        // the same with a token that has expired
	FailureRateLimited FailureKind = "rate_limited" // 429: too many requests from the address
	FailureMalformed   FailureKind = "malformed"    // not a playlist, or one that breaks a limit
	FailureTooLarge    FailureKind = "too_large"    // more bytes than the limit
	FailureTruncated   FailureKind = "truncated"    // fewer bytes than announced
	FailureUndecodable FailureKind = "undecodable"  // no track of it can be decoded (decision S4)
	FailureTool        FailureKind = "tool"         // ffmpeg is missing, was killed, or took too long
)

// renewsURL reports whether the failure asks for a new URL (decision S7). The manifest of a stream of one's own may name others.
func (k FailureKind) renewsURL() bool {
	return k == FailureExpired || k == FailureRefused || k == FailureDenied
}

// denial returns the value of event.Outage.Failure for a refusal by the broadcaster's own server; "": it is none.
func (k FailureKind) denial() string {
	switch k {
	case FailureDenied:
		return event.FailedDenied
	case FailureToken:
		return event.FailedToken
	}
	return ""
}

// mayRefuseUs reports whether the server may refuse whoever asks. It does so only while
// the question about the stream is refused too (decision S6).
func (k FailureKind) mayRefuseUs() bool { return k == FailureRefused || k == FailureRateLimited }

// Failure says why a task of the media lane failed. It is a part of the
// observation. It implements error, so that adapters can return it.
type Failure struct {
	Kind   FailureKind `json:"kind"`
	Detail string      `json:"detail"`           // one line, without a signed URL
	Status int         `json:"status,omitempty"` // HTTP status with which a server answered; 0: none
	Empty  bool        `json:"empty,omitempty"`  // it is a live manifest or stream without any media, such as that of an encoder that has just come
	Down   bool        `json:"down,omitempty"`   // the server itself refused the connection, or broke it off before it had answered
}

// Error returns the kind and the detail.
func (f *Failure) Error() string { return string(f.Kind) + ": " + f.Detail }

// NewFailure makes a Failure with a formatted Detail.
func NewFailure(kind FailureKind, format string, args ...any) *Failure {
	return &Failure{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// OwnState returns what a failure to look at a stream of one's own says of the stream. Its server is the broadcaster's, so its
// refusals and losses are the broadcaster's trouble (sections 5.6 and 5.7).
func (f *Failure) OwnState() StreamState {
	switch {
	case f.Kind.denial() != "":
		return Denied
	case f.Kind == FailureRateLimited:
		return RateLimited
	case f.Empty:
		return Upcoming
	case f.Kind == FailureMalformed, f.Kind == FailureTooLarge, f.Kind == FailureUndecodable:
		return NotALiveStream
	case f.Status != 0:
		return Upcoming
	case f.Down:
		return ServerDown
	}
	return Unreachable
}
