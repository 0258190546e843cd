//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/channel"
)

// operation is something that people do during a run: an operationType at a time.
type operation struct {
	kind         *operationType
	at, duration time.Duration // since the registration; of the last operation, since the recovery
	monitor      int           // index of the monitor that a silence is for
	channel      channelKind   // whose destination is disabled, or that no route leads to
}

// operationType is one kind of operation. run does it and returns when it is over. It returns
// errNoTarget if there was nothing to do.
type operationType struct {
	name string
	run  func(context.Context, *environment, operation) error
}

// The operations. A silence, a change of a route and a disabled destination end after the
// duration of the operation. Without a duration they last until the end of the run.
var (
	acknowledgedByAPI  = operationType{"incident acknowledged by the API", acknowledgeByAPI}
	acknowledgedByLink = operationType{"acknowledged by a link", acknowledgeByLink}
	allSilenced        = operationType{"all monitors silenced", silenceAll}
	monitorSilenced    = operationType{"monitor silenced", silenceMonitor}
	silencedByLink     = operationType{"monitor silenced by a link", silenceByLink}
	routeChanged       = operationType{"route changed", changeRoute}
	destinationOff     = operationType{"destination disabled", disableDestination}
	destinationDeleted = operationType{"destination deleted", deleteDestination}
)

// operationTypes lists them for the summary.
var operationTypes = []*operationType{
	&acknowledgedByAPI, &acknowledgedByLink, &allSilenced, &monitorSilenced, &silencedByLink, &routeChanged, &destinationOff, &destinationDeleted,
}

// operationStream selects other random numbers than those of the faults, from the same seed.
const operationStream = 0x0b5

// addOperations plans what people do. Every seed has two acknowledgements, a silence and a
// change of the routing, in turn. A third deletes a destination. Two thirds have a silence or a
// changed route while the streams end.
func (s *schedule) addOperations() {
	r := rand.New(rand.NewPCG(uint64(s.seed), operationStream))
	within := func(from, to time.Duration) time.Duration {
		return from + time.Duration(r.Int64N(int64(to-from))).Truncate(time.Millisecond)
	}
	turn := func(all ...*operationType) *operationType { return all[s.seed%len(all)] }
	// PagerDuty has a route of its own.
	others := slices.DeleteFunc(slices.Clone(channelKinds), func(k channelKind) bool { return k == pagerDutyChannel })
	s.operations = []operation{
		{kind: &acknowledgedByAPI, at: within(earliestOnset, 20*time.Second)},
		{kind: &acknowledgedByLink, at: within(earliestOnset, 22*time.Second)},
		{kind: turn(&allSilenced, &monitorSilenced, &silencedByLink), at: within(8*time.Second, 15*time.Second), duration: within(6*time.Second, 10*time.Second), monitor: r.IntN(len(s.scripts))},
		{kind: turn(&routeChanged, &destinationOff), at: within(8*time.Second, 16*time.Second), duration: within(5*time.Second, 9*time.Second), channel: others[s.seed/2%len(others)]},
	}
	if s.seed%3 == 1 {
		s.operations = append(s.operations, operation{kind: &destinationDeleted, at: within(12*time.Second, 20*time.Second), duration: within(time.Second, 3*time.Second)})
	}
	s.lastOperation = turn(nil, &allSilenced, &routeChanged)
	s.lastLeftOut = others[r.IntN(len(others))]
}

// deletesDestination reports whether a destination is deleted in the run.
func (s *schedule) deletesDestination() bool {
	return slices.ContainsFunc(s.operations, func(o operation) bool { return o.kind == &destinationDeleted })
}

func (o operation) String() string {
	text := o.kind.name
	if o.kind == &monitorSilenced {
		text += fmt.Sprintf(" (monitor %d)", o.monitor)
	}
	if o.kind == &routeChanged || o.kind == &destinationOff {
		text += fmt.Sprintf(" (%s)", o.channel)
	}
	if o.duration > 0 {
		text += fmt.Sprintf(" for %.1f s", o.duration.Seconds())
	}
	return text
}

// operationRecords are what people have done, in true times.
type operationRecords struct {
	acknowledgements []acknowledgement
	quiet            []quietTime
	names            []string // of the operations that were done
	missed           []string // names of those that found no target
	failures         []string
}

// acknowledgement is one that a gateway has answered with success.
type acknowledgement struct {
	incident string // its ID; empty: of a storm
	by       string
	at       time.Time // of the answer
}

// quietTime is a time in which nothing but ends may be sent. It lasts from the answer to the
// operation that began it, to the request that ends it; to is zero if nothing does.
type quietTime struct {
	reason   string
	channels []channelKind // nil: all
	monitor  string        // empty: all
	from, to time.Time
	noEnds   bool // not even ends are sent: the destination is disabled or deleted

}

// runOperations does operations at their times after since, and returns when all are over.
func (env *environment) runOperations(ctx context.Context, since time.Time, operations []operation) {
	for _, o := range operations {
		env.injecting.Go(func() {
			pause(ctx, time.Until(since.Add(o.at)))
			if ctx.Err() == nil {
				env.runOperation(ctx, o)
			}
		})
	}
}

func (env *environment) runOperation(ctx context.Context, o operation) {
	env.logf("%s", o)
	err := o.kind.run(ctx, env, o)
	env.logf("ended: %s: %v", o, err)
	env.mu.Lock()
	defer env.mu.Unlock()
	switch {
	case errors.Is(err, errNoTarget):
		env.done.missed = append(env.done.missed, o.kind.name)
	case err != nil:
		env.done.failures = append(env.done.failures, fmt.Sprintf("%s: %v", o, err))
	default:
		env.done.names = append(env.done.names, o.kind.name)
	}
}

// operationTimeout is how long people repeat a request that fails, and how long they wait for
// something to do.
const operationTimeout = 25 * time.Second

// retry repeats a request until it succeeds, for at most operationTimeout, as people do.
func retry(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	var lastErr error // the last one before the timeout
	for {
		err := request(ctx)
		if err == nil || errors.Is(err, errNoTarget) {
			return err
		}
		if ctx.Err() != nil {
			return cmp.Or(lastErr, err)
		}
		lastErr = err
		pause(ctx, 200*time.Millisecond)
	}
}

// mustAnswer makes a request that a gateway must answer with one of the statuses.
func (env *environment) mustAnswer(ctx context.Context, method, path string, body any, statuses ...int) (map[string]any, error) {
	response, err := env.call(ctx, method, path, body)
	if slices.Contains(statuses, response.Status) {
		return response.Body, nil
	}
	return nil, fmt.Errorf("%s %s: %d %v %w", method, path, response.Status, response.Body, err)
}

// acknowledgeByAPI acknowledges the first open incident that nobody has.
func acknowledgeByAPI(ctx context.Context, env *environment, o operation) error {
	const by = "Ann of the API"
	id := ""
	err := retry(ctx, func(ctx context.Context) error {
		list, err := env.mustAnswer(ctx, http.MethodGet, "/api/v1/incidents?state=open", nil, http.StatusOK)
		incidents, _ := list["incidents"].([]any)
		for _, i := range incidents {
			if i, _ := i.(map[string]any); i["acknowledged_by"] == nil {
				id = fmt.Sprint(i["incident_id"])
				return err
			}
		}
		return errors.Join(err, errors.New("no incident is open that nobody has"))
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errNoTarget, err)
	}
	if err := retry(ctx, func(ctx context.Context) error {
		_, err := env.mustAnswer(ctx, http.MethodPost, "/api/v1/incidents/"+id+"/acknowledge", map[string]any{"op_id": "ann-1", "by": by}, http.StatusOK)
		return err
	}); err != nil {
		return err
	}
	env.recordAcknowledgement(id, by)
	return nil
}

func (env *environment) recordAcknowledgement(incident, by string) {
	env.mu.Lock()
	defer env.mu.Unlock()
	env.done.acknowledgements = append(env.done.acknowledgements, acknowledgement{incident, by, time.Now()})
}

// keepQuiet lets a quiet time last for the duration of an operation, and then ends it by end.
// Without a duration it lasts until the end of the run.
func (env *environment) keepQuiet(ctx context.Context, o operation, q quietTime, end func(context.Context) error) error {
	q.reason, q.from = o.kind.name, time.Now()
	var err error
	if o.duration > 0 {
		pause(ctx, o.duration)
		q.to = time.Now()
		err = retry(ctx, end)
	}
	env.mu.Lock()
	defer env.mu.Unlock()
	env.done.quiet = append(env.done.quiet, q)
	return err
}

func silenceAll(ctx context.Context, env *environment, o operation) error {
	return env.silence(ctx, o, quietTime{}, map[string]any{})
}

func silenceMonitor(ctx context.Context, env *environment, o operation) error {
	id := env.monitors[o.monitor].id
	return env.silence(ctx, o, quietTime{monitor: id}, map[string]any{"monitors": []string{id}})
}

// silence creates a silence, and ends it after the duration of the operation. Clocks may be an hour
// off, so its times are further away. If an answer is lost, it is found by its comment.
func (env *environment) silence(ctx context.Context, o operation, q quietTime, match map[string]any) error {
	const far = 3 * time.Hour
	comment := fmt.Sprintf("%s at %s", o, o.at)
	body := map[string]any{"match": match, "from": time.Now().Add(-far), "to": time.Now().Add(far), "by": "Ann", "comment": comment}
	id := ""
	if err := retry(ctx, func(ctx context.Context) (err error) {
		if id, err = env.findSilence(ctx, "comment", comment); id != "" || err != nil {
			return err
		}
		created, err := env.mustAnswer(ctx, http.MethodPost, "/api/v1/silences", body, http.StatusCreated)
		id, _ = created["silence_id"].(string)
		return err
	}); err != nil {
		return err
	}
	return env.keepQuiet(ctx, o, q, func(ctx context.Context) error { return env.endSilence(ctx, id) })
}

// findSilence returns the ID of the silence with a value in a field, or an empty one.
func (env *environment) findSilence(ctx context.Context, field, value string) (id string, err error) {
	list, err := env.mustAnswer(ctx, http.MethodGet, "/api/v1/silences", nil, http.StatusOK)
	silences, _ := list["silences"].([]any)
	for _, s := range silences {
		if s, _ := s.(map[string]any); s[field] == value {
			return fmt.Sprint(s["silence_id"]), err
		}
	}
	return "", err
}

func (env *environment) endSilence(ctx context.Context, id string) error {
	_, err := env.mustAnswer(ctx, http.MethodDelete, "/api/v1/silences/"+id, nil, http.StatusOK)
	return err
}

// changeRoute takes a channel out of the default route, and puts it back.
func changeRoute(ctx context.Context, env *environment, o operation) error {
	if err := retry(ctx, func(ctx context.Context) error { return env.routeDefault(ctx, o.channel) }); err != nil {
		return err
	}
	return env.keepQuiet(ctx, o, quietTime{channels: []channelKind{o.channel}}, func(ctx context.Context) error { return env.routeDefault(ctx, "") })
}

// disableDestination disables a destination, and enables it again.
func disableDestination(ctx context.Context, env *environment, o operation) error {
	set := func(enabled bool) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := env.mustAnswer(ctx, http.MethodPatch, "/api/v1/destinations/"+env.destinationIDs[string(o.channel)], map[string]any{"enabled": enabled}, http.StatusOK)
			return err
		}
	}
	if err := retry(ctx, set(false)); err != nil {
		return err
	}
	return env.keepQuiet(ctx, o, quietTime{channels: []channelKind{o.channel}, noEnds: true}, set(true))
}

// deleteDestination lets a destination fail for the duration of the operation, so that deliveries
// are pending, and then deletes it.
func deleteDestination(ctx context.Context, env *environment, o operation) error {
	env.deleted.fake.Fail(channel.Fault{Status: http.StatusServiceUnavailable})
	pause(ctx, o.duration)
	err := retry(ctx, func(ctx context.Context) error {
		_, err := env.mustAnswer(ctx, http.MethodDelete, "/api/v1/destinations/"+env.destinationIDs[env.deleted.name], nil, http.StatusNoContent, http.StatusNotFound)
		return err
	})
	env.deleted.fake.Recover()
	if err != nil {
		return err
	}
	o.duration = 0
	return env.keepQuiet(ctx, o, quietTime{channels: []channelKind{deletedChannel}, noEnds: true}, nil)
}

// deletedChannel stands for the channel whose destination is deleted.
const deletedChannel channelKind = "deleted"
