package monitors

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// MaxBatch is the most registrations in one batch (section 16.6).
const MaxBatch = 100

// BatchResult is the answer to one registration of a batch.
type BatchResult struct {
	Monitor monitor.Monitor // as Register returns it; if Err is not nil, at most the ID of the one that Watched speaks of
	Err     error           // as Register returns it

	// Watched says that an active monitor watches the stream already, and Changed what the request has changed of it.
	Watched bool
	Changed []monitor.Difference
}

// RegisterBatch registers at most MaxBatch monitors in order, each as Register does, and
// returns a result for each. A refused registration does not stop those after it. When
// ctx is done, the remaining ones are not registered, and their Err is that of ctx. A request with
// Update changes the monitor that watches its stream, as Editor.ChangeMonitor does. owner is the file that makes the
// requests; empty: none does. Errors: the store cannot be read.
func (reg *Registrar) RegisterBatch(ctx context.Context, requests []Request, owner string) ([]BatchResult, error) {
	batch := reg.withCheckedCallbacks()
	results, err := reg.updateBatch(ctx, requests, owner, false)
	if err != nil {
		return nil, err
	}
	for i, r := range requests {
		if results[i].Watched {
			continue
		}
		if results[i].Err = ctx.Err(); results[i].Err == nil {
			results[i].Monitor, results[i].Err = batch.Register(ctx, r)
		}
	}
	return results, nil
}

// updateBatch changes the monitors that watch the streams of requests with Update. A stream that has ended is refused to its owner,
// and Watched, too. The results of others stay zero.
func (reg *Registrar) updateBatch(ctx context.Context, requests []Request, owner string, dryRun bool) ([]BatchResult, error) {
	results := make([]BatchResult, len(requests))
	if !slices.ContainsFunc(requests, func(r Request) bool { return r.Update != nil }) {
		return results, nil
	}
	streams := make([]monitor.StreamURL, len(requests))
	for i, r := range requests {
		if r.Update != nil {
			streams[i], _ = monitor.ParseStreamURL(r.StreamURL) // a wrong one is that of no monitor
		}
	}
	watched, _, err := reg.store.ActiveStreams(ctx, streams)
	if err != nil {
		return nil, fmt.Errorf("read what is watched: %w", err)
	}
	for i, stream := range streams {
		if id, is := watched[stream]; is {
			results[i] = reg.editor.update(ctx, id, *requests[i].Update, dryRun)
		}
	}
	if owner == "" {
		return results, nil
	}
	ended, err := reg.store.EndedOf(ctx, owner, streams)
	if err != nil {
		return nil, fmt.Errorf("read what has ended: %w", err)
	}
	for i, stream := range streams {
		if m, is := ended[stream]; is && !results[i].Watched && !m.EndedBefore(requests[i].Config.ScheduledStartTime) {
			results[i] = BatchResult{Watched: true, Err: monitor.OfField("stream_url", monitor.EndedAlready(m.ID, m.Status))}
		}
	}
	return results, nil
}

// CheckBatch returns what RegisterBatch would return now, but stores nothing and starts
// no worker. The IDs of new monitors are not kept. Errors: the store cannot be read.
func (reg *Registrar) CheckBatch(ctx context.Context, requests []Request, owner string) ([]BatchResult, error) {
	batch := reg.withCheckedCallbacks()
	results, err := reg.updateBatch(ctx, requests, owner, true)
	if err != nil {
		return nil, err
	}
	var streams []monitor.StreamURL
	for i, r := range requests {
		if results[i].Watched {
			continue
		}
		m, wrong := batch.read(r)
		if results[i].Err = batch.refusal(ctx, m, wrong); results[i].Err == nil {
			results[i].Monitor = m
			streams = append(streams, m.StreamURL)
		}
	}
	watched, active, err := reg.store.ActiveStreams(ctx, streams)
	if err != nil {
		return nil, fmt.Errorf("check a batch: %w", err)
	}
	for i := range results {
		m := results[i].Monitor
		if results[i].Err != nil || results[i].Watched {
			continue
		}
		if err := reg.room(m.StreamURL, watched, active); err != nil {
			results[i] = BatchResult{Err: err}
			continue
		}
		watched[m.StreamURL], active = "", active+1 // no monitor has m.ID
	}
	return results, nil
}

// withCheckedCallbacks returns a Registrar that asks the callback policy once for each
// URL. The registrations of a batch often have the same receiver, and each check may
// resolve its host.
func (reg *Registrar) withCheckedCallbacks() *Registrar {
	batch := *reg
	batch.callbacks = &checkedCallbacks{CallbackPolicy: reg.callbacks, decided: map[monitor.CallbackURL]error{}}
	return &batch
}

// checkedCallbacks is a CallbackPolicy that remembers its decisions. It may not be used
// concurrently.
type checkedCallbacks struct {
	CallbackPolicy
	decided map[monitor.CallbackURL]error
}

// Check implements CallbackPolicy.
func (c *checkedCallbacks) Check(ctx context.Context, u monitor.CallbackURL) error {
	if err, known := c.decided[u]; known {
		return err
	}
	err := c.CallbackPolicy.Check(ctx, u)
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		c.decided[u] = err
	}
	return err
}
