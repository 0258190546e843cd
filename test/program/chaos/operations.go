//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// What people do during a run. It is scheduled like a fault.
var (
	acknowledgedFirst  = faultType{name: "incident acknowledged", component: peopleComponent, inject: acknowledge}
	acknowledgedSecond = faultType{name: "another incident acknowledged", component: peopleComponent, inject: acknowledge}
	destinationDeleted = faultType{name: "destination deleted", component: peopleComponent, inject: deleteDestination}
)

// operationStream selects other random numbers than those of the faults, from the same seed.
const operationStream = 0x0b5

// addOperations plans what people do.
func (s *schedule) addOperations() {
	r := rand.New(rand.NewPCG(uint64(s.seed), operationStream))
	within := func(from, to time.Duration) time.Duration {
		return from + time.Duration(r.Int64N(int64(to-from))).Truncate(time.Millisecond)
	}
	s.faults = append(s.faults,
		fault{kind: &acknowledgedFirst, at: within(earliestOnset, 20*time.Second)},
		fault{kind: &acknowledgedSecond, at: within(earliestOnset, 22*time.Second)},
		fault{kind: &destinationDeleted, at: within(12*time.Second, 20*time.Second), duration: within(time.Second, 3*time.Second)},
	)
}

// acknowledgement is one that a gateway has answered with success.
type acknowledgement struct {
	incident string // its ID
	by       string
	at       time.Time // of the answer
}

// operationTimeout is how long people repeat a request that fails, and how long they wait for
// something to do.
const operationTimeout = 25 * time.Second

// mustAnswer sends a request and returns an error unless the answer has one of the statuses.
func (env *environment) mustAnswer(ctx context.Context, method, path string, body any, statuses ...int) (map[string]any, error) {
	response, err := env.call(ctx, method, path, body)
	if slices.Contains(statuses, response.Status) {
		return response.Body, nil
	}
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s %s: %d %v", method, path, response.Status, response.Body)
}

// acknowledge acknowledges the first open incident that nobody has. It repeats the request,
// as people do, with the same operation ID.
func acknowledge(ctx context.Context, env *environment, f fault) error {
	k := acknowledgement{by: "who " + f.kind.name}
	if err := env.waitFor(ctx, operationTimeout, func(ctx context.Context) error {
		list, err := env.mustAnswer(ctx, http.MethodGet, "/api/v1/incidents?state=open", nil, http.StatusOK)
		incidents, _ := list["incidents"].([]any)
		for _, i := range incidents {
			if i, _ := i.(map[string]any); i["acknowledged_by"] == nil {
				k.incident = fmt.Sprint(i["incident_id"])
				return err
			}
		}
		return errors.Join(err, errors.New("no incident is open that nobody has"))
	}); err != nil {
		return fmt.Errorf("%w: %w", errNoTarget, err)
	}
	body := map[string]any{"op_id": fmt.Sprint("at-", f.at), "by": k.by}
	err := env.waitFor(ctx, operationTimeout, func(ctx context.Context) error {
		_, err := env.mustAnswer(ctx, http.MethodPost, "/api/v1/incidents/"+k.incident+"/acknowledge", body, http.StatusOK)
		return err
	})
	if err == nil {
		k.at = time.Now()
		env.mu.Lock()
		defer env.mu.Unlock()
		env.audit.acknowledgements = append(env.audit.acknowledgements, k)
	}
	return err
}

// deleteDestination lets a destination fail for the duration of the fault, so that deliveries
// are pending, and then deletes it.
func deleteDestination(ctx context.Context, env *environment, f fault) error {
	n := slices.IndexFunc(env.channels, func(c channelUnderTest) bool { return c.name == deletedChannel })
	env.channels[n].fake.Fail(channel.Fault{Status: http.StatusServiceUnavailable})
	defer env.channels[n].fake.Recover()
	pause(ctx, f.duration)
	err := env.waitFor(ctx, operationTimeout, func(ctx context.Context) error {
		_, err := env.mustAnswer(ctx, http.MethodDelete, "/api/v1/destinations/"+env.destinationIDs[deletedChannel], nil, http.StatusNoContent, http.StatusNotFound)
		return err
	})
	if err == nil {
		env.mu.Lock()
		defer env.mu.Unlock()
		env.audit.deletedAt = time.Now()
	}
	return err
}
