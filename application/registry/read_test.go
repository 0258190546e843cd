package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/event"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestList(t *testing.T) {
	ctx := context.Background()
	d := open(t, 50, nil)
	var ids []monitor.ID
	for _, last := range []string{"A", "B", "C"} {
		ids = append(ids, d.registers(last).ID)
	}
	if _, err := d.Stop(ctx, ids[1]); err != nil {
		t.Fatal(err)
	}

	t.Run("is newest first, in pages", func(t *testing.T) {
		page, total, err := d.List(ctx, "", 2, 1)
		if err != nil || total != 3 || len(page) != 2 || page[0].ID != ids[1] || page[1].ID != ids[0] {
			t.Errorf("page is %+v of %d, %v", page, total, err)
		}
	})
	t.Run("keeps to one status", func(t *testing.T) {
		page, total, err := d.List(ctx, monitor.Stopped, 50, 0)
		if err != nil || total != 1 || page[0].ID != ids[1] {
			t.Errorf("page is %+v of %d, %v", page, total, err)
		}
	})
	for name, list := range map[string]func() error{
		"an unknown status":            func() error { _, _, err := d.List(ctx, "running", 50, 0); return err },
		"a limit of 0":                 func() error { _, _, err := d.List(ctx, "", 0, 0); return err },
		"a limit of 201":               func() error { _, _, err := d.List(ctx, "", 201, 0); return err },
		"an offset below 0":            func() error { _, _, err := d.List(ctx, "", 50, -1); return err },
		"an offset beyond any":         func() error { _, _, err := d.List(ctx, "", 50, registry.MaxOffset+1); return err },
		"a limit of 201 of the events": func() error { _, _, err := d.Events(ctx, ids[0], 201, 0); return err },
	} {
		t.Run("refuses "+name, func(t *testing.T) { mustBe(t, list(), monitor.InvalidConfig) })
	}
}

func TestRedeliver(t *testing.T) {
	ctx := context.Background()
	d := open(t, 50, nil)
	id := d.registers("Q").ID
	r := full()
	r.Events = []event.Event{blackout(1)}
	if _, err := d.Report(ctx, id, r); err != nil {
		t.Fatal(err)
	}
	const eventID = "0190a5d0-1c2b-7d8a-9c1d-000000000001"
	d.store.Settle(id, eventID, "failed", "it broke", noon)

	t.Run("makes a failed event pending again", func(t *testing.T) {
		if err := d.Redeliver(ctx, id, blackout(1).ID); err != nil {
			t.Fatal(err)
		}
		if records, _, _ := d.Events(ctx, id, 50, 0); records[0].Status != "pending" {
			t.Errorf("status is %s", records[0].Status)
		}
	})
	for name, unknown := range map[string]string{
		"an event that never was": "0190a5d0-1c2b-7d8a-9c1d-000000000002",
		"an id that is no UUID":   "'; drop table monitors",
	} {
		t.Run("does not know "+name, func(t *testing.T) { mustBe(t, d.Redeliver(ctx, id, unknown), monitor.NotFound) })
	}
}

func TestTry(t *testing.T) {
	ctx := context.Background()

	t.Run("sends one signed test and tells what came of it", func(t *testing.T) {
		d := open(t, 50, nil)
		d.courier.Answer = registry.Attempt{Status: 500, Error: "the receiver answered 500"}
		trial, err := d.TestWebhook(ctx, aCallback)
		if err != nil || trial.Attempt.Status != 500 {
			t.Fatalf("trial is %+v, %v", trial, err)
		}
		letters := d.courier.Sent()
		if len(letters) != 1 || letters[0].To != aCallback || letters[0].Type != "webhook.test" || letters[0].EventID != trial.EventID {
			t.Fatalf("sent %+v", letters)
		}
		var body map[string]any
		if err := json.Unmarshal(letters[0].Body, &body); err != nil {
			t.Fatal(err)
		}
		if body["event_id"] != trial.EventID || body["event_type"] != "webhook.test" || body["timestamp"] != "2024-01-15T12:00:00Z" {
			t.Errorf("body is %v", body)
		}
		if _, err := monitor.ParseID(body["monitor_id"].(string)); err != nil {
			t.Errorf("monitor_id: %v", err)
		}
		if _, err := monitor.ParseStreamURL(body["stream_url"].(string)); err != nil {
			t.Errorf("stream_url: %v", err)
		}
	})
	t.Run("sends nothing to where callbacks may not go", func(t *testing.T) {
		d := open(t, 50, func(monitor.CallbackURL) error { return monitor.Errorf(monitor.InvalidURL, "private") })
		_, err := d.TestWebhook(ctx, aCallback)
		mustBe(t, err, monitor.InvalidURL)
		_, err = d.TestWebhook(ctx, "ftp://example.com")
		mustBe(t, err, monitor.InvalidURL)
		if len(d.courier.Sent()) != 0 {
			t.Error("something was sent")
		}
	})
}

func TestNewRefuses(t *testing.T) {
	uuid := func() (u [16]byte) { return u }
	for name, cfg := range map[string]registry.Config{
		"no source of ids":             {},
		"a negative maximum":           {NewUUID: uuid, MaxMonitors: -1},
		"a negative budget to create":  {NewUUID: uuid, CreatePerMin: -1},
		"too large a budget to create": {NewUUID: uuid, CreatePerMin: registry.MaxPerMin + 1},
		"a negative budget to query":   {NewUUID: uuid, QueryPerMin: -1},
		"too large a budget to query":  {NewUUID: uuid, QueryPerMin: registry.MaxPerMin + 1},
		"a negative lead":              {NewUUID: uuid, ScheduleLead: -1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := registry.New(nil, nil, nil, nil, cfg); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestStoreFailuresPassThrough(t *testing.T) {
	d := open(t, 50, nil)
	id := d.registers("Q").ID
	broken := errors.New("connection lost")
	d.store.Fail = func(context.Context, string) error { return broken }
	ctx := context.Background()
	for name, call := range map[string]func() error{
		"Get":       func() error { _, err := d.Get(ctx, id); return err },
		"List":      func() error { _, _, err := d.List(ctx, "", 50, 0); return err },
		"Stop":      func() error { _, err := d.Stop(ctx, id); return err },
		"Events":    func() error { _, _, err := d.Events(ctx, id, 50, 0); return err },
		"Redeliver": func() error { return d.Redeliver(ctx, id, blackout(1).ID) },
		"Assign":    func() error { _, err := d.Assign(ctx, id, 1); return err },
		"Report":    func() error { _, err := d.Report(ctx, id, full()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(); !errors.Is(err, broken) {
				t.Errorf("error is %v", err)
			}
		})
	}
}
