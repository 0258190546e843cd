package evidence

import (
	"cmp"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Class decides how long a Record is kept.
type Class string

// The classes.
const (
	Normal     Class = "normal"     // Retention.Normal
	Quarantine Class = "quarantine" // Retention.Quarantine: the incident is severe or unclear
	Case       Class = "case"       // until an operator gives it another class
)

// ParseClass accepts the name of a class. Errors: *monitor.Error InvalidConfig.
func ParseClass(s string) (Class, error) {
	switch c := Class(s); c {
	case Normal, Quarantine, Case:
		return c, nil
	}
	return "", monitor.Errorf(monitor.InvalidConfig, "class is %.40q; accepted are %s, %s, %s", s, Normal, Quarantine, Case)
}

// SevereFrom is the severity of an incident from which its evidence is quarantined.
const SevereFrom = 2

// ClassOf returns the class of the evidence of an incident. severity is 0 to 3.
func ClassOf(severity int, unclear bool) Class {
	if severity >= SevereFrom || unclear {
		return Quarantine
	}
	return Normal
}

// Raise returns the class of evidence whose incident now calls for another one. Only
// normal evidence changes: an operator's choice and a longer retention stay.
func (c Class) Raise(to Class) Class {
	if c == Normal {
		return to
	}
	return c
}

// Defaults of EVIDENCE_RETENTION and EVIDENCE_QUARANTINE_RETENTION.
const (
	DefaultRetention           = 14 * 24 * time.Hour
	DefaultQuarantineRetention = 60 * 24 * time.Hour
)

// Retention holds the time from creation to deletion of each class.
type Retention struct {
	Normal     time.Duration
	Quarantine time.Duration
}

// OrDefaults returns r with the default of each class whose time is 0.
func (r Retention) OrDefaults() Retention {
	return Retention{
		Normal:     cmp.Or(r.Normal, DefaultRetention),
		Quarantine: cmp.Or(r.Quarantine, DefaultQuarantineRetention),
	}
}

// Of returns how long evidence of a class is kept. limited is false for a case.
func (r Retention) Of(c Class) (kept time.Duration, limited bool) {
	switch c {
	case Normal:
		return r.Normal, true
	case Quarantine:
		return r.Quarantine, true
	case Case:
	}
	return 0, false
}

// ExpiresAt returns when a Record is deleted; the zero time: never.
func (r Retention) ExpiresAt(record Record) time.Time {
	kept, limited := r.Of(record.Class)
	if !limited {
		return time.Time{}
	}
	return record.CreatedAt.Add(kept)
}
