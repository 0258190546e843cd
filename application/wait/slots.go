package wait

import "context"

// Slots limits how many things are done at once, to its capacity.
type Slots chan struct{}

// Take waits for a slot. The caller calls release. It returns the cause of ctx if ctx is
// done before a slot is free.
func (s Slots) Take(ctx context.Context) (release func(), err error) {
	release = func() { <-s }
	select {
	case s <- struct{}{}:
		return release, nil
	default:
	}
	select {
	case s <- struct{}{}:
		return release, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
