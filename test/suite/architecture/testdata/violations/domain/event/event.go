package event

import "time"

// At is not a function of what it was given.
func At() time.Time { return time.Now() }
