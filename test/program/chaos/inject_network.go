//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// disturbLink returns a fault that disturbs a link. With the link to the receiver
// it disturbs those to all destinations, with that to the gateway those to all gateways.
func disturbLink(id linkID, what linkFault) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		env.logf("%s", f)
		links := env.links[:1] // to the database
		switch id {
		case receiverLink:
			links = env.outside()
		case gatewayLink:
			links = nil
			for _, g := range env.gateways {
				links = append(links, g.link)
			}
		}
		return disturbAll(links, func(l *link) error { return l.disturb(ctx, what(f.parameter), f.duration) })
	}
}

// maxFailedDeliveries is how many deliveries in a row a receiver fault makes
// fail. The fourth failure would end the monitor (decision W4), and another
// fault may cause one more.
const maxFailedDeliveries = 2

// disturbReceiver returns a fault in which the receiver answers its next
// deliveries with response, and so does every destination. The mail server does what mail says.
func disturbReceiver(response httpfault.Fault, mail channel.Fault) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		env.logf("%s", f)
		stop := env.disturbOutside(response, mail)
		pause(ctx, f.duration)
		stop()
		return nil
	}
}

// acceptAndHangUp accepts a webhook and closes the connection without a
// response.
func acceptAndHangUp(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(discardedResponse{http.Header{}}, r)
	panic(http.ErrAbortHandler)
}

// discardedResponse is a ResponseWriter that discards the response.
type discardedResponse struct{ header http.Header }

func (d discardedResponse) Header() http.Header         { return d.header }
func (d discardedResponse) Write(b []byte) (int, error) { return len(b), nil }
func (d discardedResponse) WriteHeader(int)             {}

// outcomeWriteTime is how long the gateway takes to store the outcome of a
// delivery.
const outcomeWriteTime = 300 * time.Millisecond

// onNextWebhook returns a fault that runs inject when the next webhook has
// arrived and the gateway does not know its outcome yet. The receiver then
// answers with response.
func onNextWebhook(inject injectFunc, response httpfault.Fault) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		arrived, done := make(chan struct{}), make(chan error, 1)
		stop := env.receiver.Inject(1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			close(arrived)
			*f.startedAt = time.Now()
			env.logf("%s: a webhook arrived", f)
			done <- inject(context.WithoutCancel(ctx), env, f)
			response(w, r, next)
		})
		select {
		case err := <-done:
			pause(ctx, outcomeWriteTime)
			return err
		case <-ctx.Done():
		case <-time.After(f.duration):
		}
		stop()
		select { // a webhook may have arrived just before stop
		case <-arrived:
			return <-done
		default:
			return fmt.Errorf("%w: no webhook arrived for %s", errNoTarget, f.duration)
		}
	}
}

// acceptWebhook answers as a receiver without faults does.
func acceptWebhook(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }
