package monitors_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/application/monitors"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Decision A3: the answer names every wrong field, whichever request asks.
func TestRegistrationsBatchesAndPreviewsRefuseTheSame(t *testing.T) {
	ctx := context.Background()
	over := noon.Add(-time.Hour)
	for name, c := range map[string]struct {
		change func(*monitors.Request)
		wrong  []string
	}{
		"a passed end beside wrong metadata":       {func(r *monitors.Request) { r.Config.ScheduledEndTime, r.Metadata = &over, []byte(`[]`) }, []string{"metadata", "config.scheduled_end_time"}},
		"a refused callback beside a wrong stream": {func(r *monitors.Request) { r.StreamURL, r.CallbackURL = "x", new("https://10.0.0.1/") }, []string{"stream_url", "callback_url"}},
		"a label without a value":                  {func(r *monitors.Request) { r.Labels = monitor.Labels{"team": "a", "show": ""} }, []string{"labels.show"}},
		"two settings": {func(r *monitors.Request) { r.Config.CheckIntervalSec, r.Config.StartDelayToleranceSec = 301, -1 },
			[]string{"config.check_interval_sec", "config.start_delay_tolerance_sec"}},
		"an unreadable setting beside a wrong callback": {func(r *monitors.Request) {
			r.CallbackURL = new("x")
			r.Unreadable = []error{monitor.FieldErrorf("config.check_interval_sec", "is true")}
		}, []string{"config.check_interval_sec", "callback_url"}},
		"an unreadable callback is named once": {func(r *monitors.Request) {
			r.CallbackURL, r.Unreadable = nil, []error{monitor.FieldErrorf("callback_url", "is 1")}
		}, []string{"callback_url"}},
		"a watched stream": {func(r *monitors.Request) { r.StreamURL = request("W").StreamURL }, []string{"stream_url"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, 50, func(u monitor.CallbackURL) error {
				if u == "https://10.0.0.1/" {
					return monitor.Errorf(monitor.InvalidURL, "callback_url leads to a private network")
				}
				return nil
			})
			s.register("W")
			r := request("Q")
			c.change(&r)
			preview, err := s.Preview(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			named := map[string]bool{}
			for _, problem := range preview.Problems {
				named[monitor.FieldOf(problem)] = true
			}
			for _, field := range c.wrong {
				if !named[field] || len(named) != len(c.wrong) || len(preview.Problems) != len(c.wrong) {
					t.Errorf("the preview refuses %v; want %v", preview.Problems, c.wrong)
				}
			}
			_, alone := s.Register(ctx, r)
			_, _, keyed := s.RegisterIdempotent(ctx, r, monitors.Digest{1})
			dry, err := s.CheckBatch(ctx, []monitors.Request{r}, "")
			if err != nil {
				t.Fatal(err)
			}
			want := preview.Problems[0].Error()
			if len(preview.Problems) > 1 {
				want = monitor.Join(preview.Problems...).Error()
			}
			batch, err := s.RegisterBatch(ctx, []monitors.Request{r}, "")
			if err != nil {
				t.Fatal(err)
			}
			for name, got := range map[string]error{"Register": alone, "RegisterIdempotent": keyed, "CheckBatch": dry[0].Err, "RegisterBatch": batch[0].Err} {
				if coded, is := errors.AsType[*monitor.Error](got); !is || coded.Error() != want {
					t.Errorf("%s refuses with %v; the preview with %s", name, got, want)
				}
			}
			if page, err := s.List(ctx, monitors.MonitorQuery{Limit: 50}); err != nil || page.Total != 1 {
				t.Errorf("stored are %d monitors, %v", page.Total, err)
			}
		})
	}
}

func TestADryRunWithoutTheStoreHasNoAnswer(t *testing.T) {
	s := newService(t, 2, nil)
	s.store.Fail = func(context.Context, string) error { return errors.New("no database") }
	if results, err := s.CheckBatch(context.Background(), []monitors.Request{request("A")}, ""); err == nil {
		t.Errorf("the results are %+v", results)
	}
}

func TestOnlyABatchOfAFileAsksWhatHasEnded(t *testing.T) {
	s := newService(t, 2, nil)
	asked := 0
	s.store.Fail = func(_ context.Context, op string) error {
		if op == "EndedOf" {
			asked++
		}
		return nil
	}
	r := request("A")
	r.Owner, r.Update = "evening.yaml", &monitors.Change{}
	for _, owner := range []string{"", "evening.yaml"} {
		if _, err := s.CheckBatch(t.Context(), []monitors.Request{r}, owner); err != nil || asked != len(owner)/len("evening.yaml") {
			t.Errorf("with the owner %q it was asked %d times, %v", owner, asked, err)
		}
	}
}

func TestABatchAsksTheCallbackPolicyOnceForEachReceiver(t *testing.T) {
	asked := 0
	s := newService(t, 9, func(monitor.CallbackURL) error { asked++; return nil })
	_, err := s.RegisterBatch(context.Background(), []monitors.Request{request("A"), request("B"), request("C")}, "")
	if asked != 1 || err != nil {
		t.Errorf("the policy was asked %d times, %v", asked, err)
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
	results, err := s.RegisterBatch(ctx, []monitors.Request{request("A"), request("B")}, "")
	if err != nil || results[0].Err != nil || !errors.Is(results[1].Err, context.Canceled) {
		t.Errorf("results are %v, %v", results[0].Err, results[1].Err)
	}
}
