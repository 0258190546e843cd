package supervisor

// sight is what is seen of an active monitor and of its worker, in one look.
type sight struct {
	generation int  // the monitor's newest
	worker     int  // the generation that runs at this gateway's place; 0: none does
	blind      bool // that cannot be told
	charged    bool // this gateway looks after its newest generation already
	here       bool // that was launched at this gateway's place
	shared     bool // where others launch, too
	elected    bool // this gateway looks after all monitors (decision O5)
	reported   bool // its newest generation has reported
	absent     bool // it was not in view at the last look, either
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

// judge knows two ways to tell that a worker is lost. It is not where it should
// be, which only its own place can tell: at once where nobody else launches, at
// the second look where it may just be on its way. Or it has been silent for too
// long, which everybody can tell, and one does. What this gateway has launched or
// adopted itself is not missed: its end will be told.
func judge(s sight) finding {
	runs := s.worker == s.generation
	own := s.here && !s.shared
	switch {
	case s.blind && s.silent && s.elected:
		return silent
	case s.blind:
		return fine
	case own && !runs && !s.charged:
		return missing
	case s.here && s.shared && s.elected && !runs && !s.charged && (s.reported && s.absent || s.silent):
		return missing
	case s.silent && s.elected:
		return silent
	case runs && !s.charged && (own || s.elected):
		return found
	}
	return fine
}
