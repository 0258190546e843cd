//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
)

// disturbLinks returns a fault that disturbs links at the same time.
func disturbLinks(links func(*environment) []*link, what linkFault) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		var all sync.WaitGroup
		errs := make([]error, len(env.channels)+2)
		for n, l := range links(env) {
			all.Go(func() { errs[n] = l.disturb(ctx, what(f.parameter), f.duration) })
		}
		all.Wait()
		return errors.Join(errs...)
	}
}

func toDatabase(env *environment) []*link { return []*link{env.databaseLink} }

func toGateways(env *environment) (links []*link) {
	for _, g := range env.gateways {
		links = append(links, g.link)
	}
	return links
}

// toReceivers returns the links to the callback, to the webhook destination and to the channels.
func toReceivers(env *environment) []*link {
	links := []*link{env.receiverLink, env.destinationLink}
	for _, c := range env.channels {
		links = append(links, c.link)
	}
	return links
}

// maxFailedDeliveries is how many deliveries in a row a receiver fault makes
// fail. The fourth failure would end the monitor (decision W4), and another
// fault may cause one more.
const maxFailedDeliveries = 2

// disturbReceiver returns a fault in which the receivers answer their next deliveries with
// response, and every channel all of them. The mail server does what mail says.
func disturbReceiver(response httpfault.Fault, mail channel.Fault) injectFunc {
	return func(ctx context.Context, env *environment, f fault) error {
		defer env.receiver.Inject(maxFailedDeliveries, response)()
		defer env.destination.Inject(maxFailedDeliveries, response)()
		for _, c := range env.channels {
			if c.name == emailChannel {
				c.fake.Fail(mail)
			} else {
				c.fake.Fail(channel.Fault{HTTP: response})
			}
			defer c.fake.Recover()
		}
		pause(ctx, f.duration)
		return nil
	}
}

// acceptAndHangUp accepts a webhook and closes the connection without a
// response.
func acceptAndHangUp(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

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
