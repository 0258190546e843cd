// Package login says how a login is that people have uploaded: a cookie jar (section 17.7), or the token of an owner (decision S24).
package login

import "time"

// State says in a word how a login is.
type State string

// The states of a login.
const (
	Unused     State = "unused"     // nobody has learned anything with it since it was uploaded
	Accepted   State = "accepted"   // it was last accepted
	Rejected   State = "rejected"   // it is accepted no longer: a person has to sign in, and to upload another one
	Unreadable State = "unreadable" // no key of SECRETS_KEY decrypts it
)

// Standing is what is known of a login since the newest upload.
type Standing struct {
	Unreadable bool      // no key of SECRETS_KEY decrypts it
	AcceptedAt time.Time // when it was last accepted; zero: never
	RejectedAt time.Time // since when it is rejected; zero: it is not
}

// State returns the state of the login.
func (s Standing) State() State {
	switch {
	case s.Unreadable:
		return Unreadable
	case !s.RejectedAt.IsZero():
		return Rejected
	case !s.AcceptedAt.IsZero():
		return Accepted
	}
	return Unused
}
