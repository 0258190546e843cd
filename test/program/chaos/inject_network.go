//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

func disturbLink(w linkID, toxic string) func(context.Context, *environment, fault) error {
	return func(ctx context.Context, env *environment, f fault) error {
		env.logf("%s", f)
		return env.links[w].addToxic(ctx, toxic, f.parameter, f.duration)
	}
}

// refusals is how many deliveries in a row a receiver spoils at most: the fourth
// would end the monitor (decision W4), and one more may be lost to another fault.
const maxFailedDeliveries = 2

func disturbReceiver(response httpfault.Fault) func(context.Context, *environment, fault) error {
	return func(ctx context.Context, env *environment, f fault) error {
		env.logf("%s", f)
		behave := env.receiver.Inject(maxFailedDeliveries, response)
		pause(ctx, f.duration)
		behave()
		return nil
	}
}

// takeAndHangUp takes a webhook and does not say so.
func acceptAndHangUp(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(discardedResponse{http.Header{}}, r)
	panic(http.ErrAbortHandler)
}

// deaf is where an answer goes that nobody gets.
type discardedResponse struct{ header http.Header }

func (d discardedResponse) Header() http.Header         { return d.header }
func (d discardedResponse) Write(b []byte) (int, error) { return len(b), nil }
func (d discardedResponse) WriteHeader(int)             {}

// written is how long the outcome of a webhook takes to be written down.
const outcomeWriteTime = 300 * time.Millisecond

// asAWebhookArrives does something at the worst of moments: the next webhook has
// arrived, and its sender does not know. then lets it through, or not.
func onNextWebhook(do func(context.Context, *environment, fault) error, response httpfault.Fault) func(context.Context, *environment, fault) error {
	return func(ctx context.Context, env *environment, f fault) error {
		came, done := make(chan struct{}), make(chan error, 1)
		behave := env.receiver.Inject(1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			close(came)
			*f.startedAt = time.Now()
			env.logf("%s: now", f)
			done <- do(context.WithoutCancel(ctx), env, f)
			response(w, r, next)
		})
		select {
		case err := <-done:
			pause(ctx, outcomeWriteTime)
			return err
		case <-ctx.Done():
		case <-time.After(f.duration):
		}
		behave()
		select { // it may have come in the last moment
		case <-came:
			return <-done
		default:
			return fmt.Errorf("%w: no webhook came for %s", errNoTarget, f.duration)
		}
	}
}

func doNothing(context.Context, *environment, fault) error { return nil }

// takeIt answers as if nothing were the matter.
func acceptWebhook(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }
