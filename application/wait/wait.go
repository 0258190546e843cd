// Package wait blocks for a time that the end of a context cuts short. Every goroutine
// that waits between two tries uses it.
package wait

import (
	"context"
	"time"
)

// For blocks for d, at most until ctx is done. It returns false if ctx is done.
func For(ctx context.Context, d time.Duration) bool { return ForOrUntil(ctx, d, nil) }

// ForOrUntil blocks for d, at most until wake receives or ctx is done. It returns false
// if ctx is done. A nil wake never receives.
func ForOrUntil(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
