package watch

import "fmt"

// FailureKind tells failures apart as far as the watcher treats them apart.
type FailureKind string

// The kinds of failure of the media lane.
const (
	FailureNetwork     FailureKind = "network"     // DNS, connect, reset, timeout, 5xx, 429
	FailureExpired     FailureKind = "expired"     // 401, 403, 404, 410: the URL is no longer good (decision S7)
	FailureMalformed   FailureKind = "malformed"   // not a playlist, or one that breaks a limit
	FailureTooLarge    FailureKind = "too_large"   // more bytes than the limit
	FailureTruncated   FailureKind = "truncated"   // fewer bytes than announced
	FailureUndecodable FailureKind = "undecodable" // no track of it can be decoded (decision S4)
	FailureTool        FailureKind = "tool"        // ffmpeg is missing, was killed, or took too long
)

// Failure is why a task of the media lane failed. It is an error so that
// adapters can return it; the watcher sees it as part of an observation.
type Failure struct {
	Kind   FailureKind `json:"kind"`
	Detail string      `json:"detail"` // one line for people; carries no signed URL
}

func (f *Failure) Error() string { return string(f.Kind) + ": " + f.Detail }

// Failed makes a Failure.
func NewFailure(kind FailureKind, format string, args ...any) *Failure {
	return &Failure{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}
