package eventsub

import (
	"slices"
	"time"
)

// The times of subscriptions.
const (
	SyncEvery    = 5 * time.Second  // how often it is looked which are wanted
	ListEvery    = 10 * time.Minute // how often Twitch is asked which there are
	RefusedPause = 10 * time.Minute // after one was refused
	UsersEvery   = time.Hour        // how often the ids of logins are asked for again, of unknown ones, too
)

// PerCall is how many logins one call of Twitch's API takes.
const PerCall = 100

// Transport is the way on which subscriptions send: a webhook, or a conduit.
type Transport struct {
	Callback string `json:"callback,omitempty"` // of a webhook; without its secret
	Conduit  string `json:"conduit_id,omitempty"`
}

// Key is what a subscription is about. There is one of each.
type Key struct {
	Type   Type
	UserID string
}

// Subscription is a subscription that exists at Twitch.
type Subscription struct {
	ID string
	Key
	Status    string // enabled, …_pending, or why it sends nothing
	Cost      int
	Transport Transport
}

// Unreached is the Status of a subscription whose webhook has not answered with the challenge.
const Unreached = "webhook_callback_verification_failed"

// works reports whether a subscription sends, or will.
func (s Subscription) works() bool {
	return s.Status == "enabled" || s.Status == "webhook_callback_verification_pending"
}

// Existing are the subscriptions of the application, with those of others who use it.
type Existing struct {
	Subscriptions []Subscription
	Cost, MaxCost int // of all, and the most; 0: unknown
}

// Plan is what has to be done.
type Plan struct {
	Add    []Key    // in the order of their importance
	Remove []string // ids
	NoRoom int      // how many are wanted for which MaxCost has no room
}

// MakePlan compares the users that are wanted with what exists. now is the transport of new subscriptions. It
// changes only subscriptions whose transport is now or a former one.
func MakePlan(users []string, existing Existing, now Transport, former []Transport) (p Plan) {
	wanted := map[Key]bool{}
	for _, t := range Types { // all starts before the first end
		for _, id := range users {
			key := Key{t, id}
			if !wanted[key] {
				p.Add = append(p.Add, key)
			}
			wanted[key] = true
		}
	}
	have, cost := map[Key]bool{}, existing.Cost
	for _, s := range existing.Subscriptions {
		switch {
		case s.Transport != now && !slices.Contains(former, s.Transport):
		case s.Transport == now && wanted[s.Key] && !have[s.Key] && s.works():
			have[s.Key] = true
		default:
			p.Remove, cost = append(p.Remove, s.ID), cost-s.Cost
		}
	}
	p.Add = slices.DeleteFunc(p.Add, func(k Key) bool { return have[k] })
	if room := max(0, existing.MaxCost-cost); existing.MaxCost > 0 && room < len(p.Add) { // each costs one
		p.Add, p.NoRoom = p.Add[:room], len(p.Add)-room
	}
	return p
}
