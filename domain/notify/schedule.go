package notify

// Class says what a failed attempt means for the next one.
type Class string

// The classes of failures.
const (
	Accepted Class = ""         // no failure
	Retry    Class = "retry"    // it may pass, or a person may repair it: no answer, 401, 403, 404, 408, 429, 5xx
	Rejected Class = "rejected" // this message is never accepted: 400, 413, 422
	Gone     Class = "gone"     // the destination does not exist any more: 410
)
