//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// written is how long the outcome of a webhook takes to be written down.
const written = 300 * time.Millisecond

// asAWebhookArrives does something at the worst of moments: the next webhook has
// arrived, and its sender does not know. then lets it through, or not.
func asAWebhookArrives(do func(context.Context, *site, strike) error, then httpfault.Fault) func(context.Context, *site, strike) error {
	return func(ctx context.Context, s *site, k strike) error {
		came, done := make(chan struct{}), make(chan error, 1)
		behave := s.sink.Inject(1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			close(came)
			*k.began = time.Now()
			s.note("%s: now", k)
			done <- do(context.WithoutCancel(ctx), s, k)
			then(w, r, next)
		})
		select {
		case err := <-done:
			pause(ctx, written)
			return err
		case <-ctx.Done():
		case <-time.After(k.by):
		}
		behave()
		select { // it may have come in the last moment
		case <-came:
			return <-done
		default:
			return fmt.Errorf("%w: no webhook came for %s", errNobody, k.by)
		}
	}
}

func nothing(context.Context, *site, strike) error { return nil }

// takeIt answers as if nothing were the matter.
func takeIt(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }
