package kube

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	callLimit = 10 * time.Second // for one exchange with the API server
	listLimit = 30 * time.Second // for a list of all pods, likewise

	tries      = 3
	firstPause = 200 * time.Millisecond // between two of them, doubled
)

// once makes one exchange with the API server.
func once(ctx context.Context, limit time.Duration, exchange func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return exchange(ctx)
}

// again makes an exchange that may be repeated, a few times when it fails for a
// reason that may pass.
func again(ctx context.Context, limit time.Duration, exchange func(context.Context) error) error {
	for n := 1; ; n++ {
		err := once(ctx, limit, exchange)
		if err == nil || n == tries || !passing(err) || !wait(ctx, firstPause<<(n-1)) {
			return err
		}
	}
}

// passing tells that an exchange failed for a reason that may pass: the server
// says so, or it could not be asked at all.
func passing(err error) bool {
	var answer apierrors.APIStatus
	return !errors.As(err, &answer) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err)
}

// wait blocks for d and tells whether to go on: not when ctx is done.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
