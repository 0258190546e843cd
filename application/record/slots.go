package record

import "context"

// slots limits how many things are done at once, to its capacity.
type slots chan struct{}

// take waits for a slot. The caller calls release. It returns the cause of ctx if ctx is
// done first.
func (s slots) take(ctx context.Context) (release func(), err error) {
	select {
	case s <- struct{}{}:
		return func() { <-s }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
