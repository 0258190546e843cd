package monitors_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// batch has a registration of each kind, for a service with room for two.
func batch() []monitors.Request {
	wrong := request("W")
	wrong.StreamURL = "https://example.com/"
	return []monitors.Request{request("A"), wrong, request("A"), request("B"), request("C")}
}

// requireBatch checks the code of each result of batch; "" is no error.
func requireBatch(t *testing.T, results []monitors.BatchResult) {
	t.Helper()
	want := []monitor.Code{"", monitor.InvalidURL, monitor.Duplicate, "", monitor.MaxMonitorsExceeded}
	if len(results) != len(want) {
		t.Fatalf("%d results, want %d", len(results), len(want))
	}
	for i, r := range results {
		var got monitor.Code
		if coded, is := errors.AsType[*monitor.Error](r.Err); is {
			got = coded.Code
		}
		if got != want[i] || (r.Err == nil) != (r.Monitor.ID != "") {
			t.Errorf("result %d is %+v, want code %q", i, r, want[i])
		}
	}
}

func TestARefusedRegistrationDoesNotStopTheRestOfABatch(t *testing.T) { // section 16.6
	s := newService(t, 2, nil)
	requireBatch(t, s.RegisterBatch(context.Background(), batch()))
	if n := len(s.workers.Started()); n != 2 {
		t.Errorf("%d workers were started", n)
	}
}

func TestADryRunAnswersLikeABatchAndStoresNothing(t *testing.T) { // section 16.6
	s := newService(t, 2, nil)
	results, err := s.CheckBatch(context.Background(), batch())
	if err != nil {
		t.Fatal(err)
	}
	requireBatch(t, results)
	if page, err := s.List(context.Background(), monitors.MonitorQuery{Limit: 10}); page.Total != 0 || err != nil || len(s.workers.Started()) != 0 {
		t.Errorf("%d monitors are stored, %v", page.Total, err)
	}
	m := s.register("B")
	results, err = s.CheckBatch(context.Background(), []monitors.Request{request("B")})
	if err != nil {
		t.Fatal(err)
	}
	requireCode(t, results[0].Err, monitor.Duplicate)
	s.store.Fail = func(context.Context, string) error { return errors.New("no database") }
	if _, err := s.CheckBatch(context.Background(), batch()); err == nil {
		t.Errorf("a dry run without the store has an answer, although %s is active", m.ID)
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
