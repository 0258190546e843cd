package officialstate

import "time"

// Rounds say how an API is asked, for people.
type Rounds struct {
	Streams int        `json:"streams"`  // about which the newest round asked
	AskedAt *time.Time `json:"asked_at"` // when it began; nil: there was none
	NextAt  *time.Time `json:"next_at"`  // when the next one is due
	Failure *Failure   `json:"failure"`  // why the newest round was not answered; nil: it was
}

// Status is the use of an API with units at a moment, for people.
type Status struct {
	UnitsUsed   int       `json:"units_used"` // of the day that ends at ResetsAt
	UnitsPerDay int       `json:"units_per_day"`
	ResetsAt    time.Time `json:"resets_at"`

	Rounds
}

// Status returns the use of the API at now. zone is that of Zone.
func (a Account) Status(now time.Time, zone *time.Location) Status {
	s := Status{UnitsPerDay: UnitsPerDay, ResetsAt: nextDay(now, zone), Rounds: a.Rounds()}
	if a.Day.Equal(dayOf(now, zone)) {
		s.UnitsUsed = a.Used
	}
	return s
}

// Rounds returns how the API is asked.
func (a Account) Rounds() Rounds {
	r := Rounds{Streams: a.Streams}
	if !a.AskedAt.IsZero() {
		r.AskedAt, r.NextAt = &a.AskedAt, &a.NextAt
	}
	if a.Failures > 0 {
		r.Failure = &a.Failure
	}
	return r
}
