package officialstate

import (
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/backoff"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// The limits of the API.
const (
	UnitsPerDay = 10_000 // of one project; each call costs one, also one that is refused
	PerCall     = 50     // ids

	UploadsUnits = 2     // of one list of the uploads of a channel: of the list, and of the states
	HandleUnits  = 1     // more, if the ID of the channel is not known
	MaxUploads   = 2_000 // units a day for the uploads of channels; the rest is for states
)

const (
	minInterval = 30 * time.Second // between two rounds

	// maxInterval is the longest interval that keeps states young: the next round may begin Tick late and take 10 s, and
	// its answer waits up to 10 s for a report of the worker.
	maxInterval = monitor.OfficialStateLife - 2*10*time.Second - Tick

	// Tick is how often the gateway looks whether a round is due.
	Tick = 5 * time.Second

	// uploadsAhead is how much earlier than they are due units for the uploads of channels may be used.
	uploadsAhead = time.Hour

	// lateReset is how long after its midnight the API may still refuse a new day's questions: its clock, or ours, is late.
	lateReset = time.Hour
)

// failureBackoff delays the next round after failures. At its maximum a day takes 144 units.
var failureBackoff = backoff.Policy{First: 30 * time.Second, Max: 10 * time.Minute}

// Zone is the name of the time zone at whose midnight the API begins to count again.
const Zone = "America/Los_Angeles"

// Account is what is known of the use of an API by all gateways. The store keeps it as JSON. The zero value has asked nothing.
type Account struct {
	Key     string    `json:"key"`               // tells one key, or application, from another, without revealing it
	Day     time.Time `json:"day"`               // when the day began in which Used was counted
	Used    int       `json:"used"`              // units
	Uploads int       `json:"uploads,omitempty"` // of Used, for the uploads of channels
	AskedAt time.Time `json:"asked_at,omitzero"` // when the newest round began
	Streams int       `json:"streams"`           // of that round
	NextAt  time.Time `json:"next_at,omitzero"`  // when the next one is due

	// Failure is why the newest round was not answered. Failures counts such rounds in a row; 0: it was answered.
	Failure  Failure `json:"failure,omitzero"`
	Failures int     `json:"failures,omitempty"`
}

// Stream is a stream whose state may be asked for.
type Stream struct {
	MonitorID      monitor.ID
	SourceID       string
	Place          bool      // SourceID names a place where broadcasts come and go (monitor.Source.Returns)
	Live           bool      // it is being watched; else it waits
	ScheduledStart time.Time // of one that waits; zero: unknown
}

// Due reports whether a round with this key may begin at now. Another key has units of its own. A time in the
// future was written by a clock that has been set back since.
func (a Account) Due(now time.Time, key string) bool {
	return a.Key != key || !now.Before(a.NextAt) || now.Before(a.AskedAt)
}

// Begin begins a round at now, if one is due, and counts its units. zone is that of Zone. It returns the streams to
// ask about. These are all of them, or as many as the rest of the day allows to keep young: first those that wait, by their start.
func (a *Account) Begin(now time.Time, key string, streams []Stream, zone *time.Location) []Stream {
	if len(streams) == 0 || !a.Due(now, key) {
		return nil
	}
	a.open(now, key, zone)
	untilReset, left := nextDay(now, zone).Sub(now), UnitsPerDay-a.Used
	if left <= 0 {
		a.NextAt = nextDay(now, zone)
		return nil
	}
	affordable := int(time.Duration(left) * maxInterval / untilReset)
	calls := max(1, min(callsFor(len(streams)), affordable))
	calls = min(calls, left)
	a.Used, a.AskedAt = a.Used+calls, now
	a.NextAt = now.Add(max(minInterval, untilReset*time.Duration(calls)/time.Duration(left)))
	asked := slices.SortedStableFunc(slices.Values(streams), compareNeed) // so that more than can be kept young leave out the same ones
	asked = asked[:min(len(asked), calls*PerCall)]
	a.Streams = len(asked)
	return asked
}

// BeginAll begins a round at now, if one is due, with an API that has no units of a day. It returns the streams to ask about: those that
// wait. Of one that is watched such an API knows less than the watch.
func (a *Account) BeginAll(now time.Time, key string, streams []Stream) []Stream {
	asked := slices.DeleteFunc(slices.Clone(streams), func(s Stream) bool { return s.Live })
	if len(asked) == 0 || !a.Due(now, key) {
		return nil
	}
	if a.Key != key {
		*a = Account{Key: key}
	}
	a.AskedAt, a.NextAt, a.Streams = now, now.Add(minInterval), len(asked)
	return asked
}

// open begins to count anew with another key, and on another day.
func (a *Account) open(now time.Time, key string, zone *time.Location) {
	if a.Key != key {
		*a = Account{Key: key}
	}
	if today := dayOf(now, zone); !a.Day.Equal(today) {
		a.Day, a.Used, a.Uploads = today, 0, 0
	}
}

// SpendOnUploads counts the units of a list of uploads that is about to be made at now, and reports whether it may be
// made. It counts nothing while the API refuses the key, or when the units for uploads are used up. Of MaxUploads as much
// may be used as of the day has passed by uploadsAhead from now, so that a morning leaves units for the evening.
func (a *Account) SpendOnUploads(now time.Time, key string, zone *time.Location, units int) bool {
	refused := a.Failure.Kind == QuotaExceeded || a.Failure.Kind == KeyRefused
	if a.Key == key && refused && now.Before(a.NextAt) {
		return false
	}
	a.open(now, key, zone)
	day := nextDay(now, zone).Sub(a.Day)
	share := int(MaxUploads * min(now.Sub(a.Day)+uploadsAhead, day) / day)
	if a.Uploads+units > share || a.Used+units > UnitsPerDay {
		return false
	}
	a.Uploads, a.Used = a.Uploads+units, a.Used+units
	return true
}

// Spend counts the units of a look with one of so many logins of owners (decision S24), and reports whether the day has them. next is
// when the same login may be used again: the looks with all logins take at most half of what is left of the day.
func (a *Account) Spend(now time.Time, key string, units, logins int, zone *time.Location) (next time.Time, ok bool) {
	a.open(now, key, zone)
	untilReset, left := nextDay(now, zone).Sub(now), UnitsPerDay-a.Used
	if left < units {
		return nextDay(now, zone), false
	}
	a.Used += units
	return now.Add(max(minInterval, untilReset*time.Duration(2*units*logins)/time.Duration(left))), true
}

// Exhaust records that the API has no units any more before its next day. It returns when to ask again.
func (a *Account) Exhaust(now time.Time, zone *time.Location) time.Time {
	if now.Sub(dayOf(now, zone)) < lateReset {
		return now.Add(failureBackoff.Max)
	}
	a.Used = UnitsPerDay
	return nextDay(now, zone)
}

// RetryAt returns when to ask again after a number of failures in a row.
func RetryAt(now time.Time, failures int) time.Time { return now.Add(failureBackoff.Delay(failures)) }

// End takes in the outcome of the round that Begin or BeginAll has begun; nil: each call was answered. zone is nil for an API that has no
// units of a day.
func (a *Account) End(now time.Time, f *Failure, zone *time.Location) {
	if f == nil {
		a.Failure, a.Failures = Failure{}, 0
		return
	}
	a.Failures++
	a.Failure = *f
	next := RetryAt(now, a.Failures)
	if f.Kind == QuotaExceeded && zone != nil && now.Sub(dayOf(now, zone)) >= lateReset {
		next = nextDay(now, zone)
	}
	if next.After(a.NextAt) {
		a.NextAt = next
	}
}

func callsFor(streams int) int { return (streams + PerCall - 1) / PerCall }

// compareNeed orders streams by how much they need the API: a stream that is being watched asks once an hour without it.
func compareNeed(a, b Stream) int {
	switch {
	case a.Live != b.Live && a.Live:
		return 1
	case a.Live != b.Live:
		return -1
	}
	return a.ScheduledStart.Compare(b.ScheduledStart) // an unknown one may be at any time
}

// dayOf returns the midnight before now in a zone.
func dayOf(now time.Time, zone *time.Location) time.Time {
	year, month, day := now.In(zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, zone)
}

// nextDay returns the midnight after now in a zone. A day has 23 to 25 hours.
func nextDay(now time.Time, zone *time.Location) time.Time {
	year, month, day := now.In(zone).Date()
	return time.Date(year, month, day+1, 0, 0, 0, 0, zone)
}
