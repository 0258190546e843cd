package supervise

// sight is what is seen of an active monitor and of its worker, in one look.
type sight struct {
	generation int  // the monitor's newest
	worker     int  // the generation that runs at this gateway's place; 0: none does
	charged    bool // this gateway looks after its newest generation already
	own        bool // that was launched at this gateway's place, where nobody else launches
	elected    bool // this gateway looks after all monitors (decision O5)
	silent     bool // its report lease has run out (decision O3)
}

// finding is what a sight amounts to.
type finding int

const (
	fine    finding = iota // or somebody else's concern, or too soon to tell
	found                  // its worker runs, and nobody looks after it: it is adopted
	missing                // its worker does not run
	silent                 // its worker may run, but says nothing
)

// judge knows two ways to tell that a worker is lost: it is not where it should
// be, which only its own place can tell; or it has been silent for too long,
// which everybody can, and one does. What this gateway has launched or adopted
// itself is not missed: its end will be told.
func judge(s sight) finding {
	switch {
	case s.own && !s.charged && s.worker != s.generation:
		return missing
	case s.silent && s.elected:
		return silent
	case !s.charged && s.worker == s.generation && (s.own || s.elected):
		return found
	}
	return fine
}
