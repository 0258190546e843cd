package monitors_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestADryRunWithoutTheStoreHasNoAnswer(t *testing.T) {
	s := newService(t, 2, nil)
	s.store.Fail = func(context.Context, string) error { return errors.New("no database") }
	if results, err := s.CheckBatch(context.Background(), []monitors.Request{request("A")}); err == nil {
		t.Errorf("the results are %+v", results)
	}
}

func TestABatchAsksTheCallbackPolicyOnceForEachReceiver(t *testing.T) {
	asked := 0
	s := newService(t, 9, func(monitor.CallbackURL) error { asked++; return nil })
	s.RegisterBatch(context.Background(), []monitors.Request{request("A"), request("B"), request("C")})
	if asked != 1 {
		t.Errorf("the policy was asked %d times", asked)
	}
}

func TestABatchWhoseCallerIsGoneRegistersNoMore(t *testing.T) {
	s := newService(t, 9, nil)
	ctx, cancel := context.WithCancel(context.Background())
	s.store.Fail = func(_ context.Context, op string) error {
		if op == "Insert" {
			cancel()
		}
		return nil
	}
	results := s.RegisterBatch(ctx, []monitors.Request{request("A"), request("B")})
	if results[0].Err != nil || !errors.Is(results[1].Err, context.Canceled) {
		t.Errorf("results are %v, %v", results[0].Err, results[1].Err)
	}
}
