package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// aroundTheClock is a window that is always open.
func aroundTheClock() notify.Window {
	return notify.Window{Weekdays: []string{}, Start: "00:00", End: "00:00", Timezone: "Asia/Tokyo"}
}

// setDuty stores who is on duty.
func setDuty(t testing.TB, s *postgres.Store, duty notify.Duty) notify.Duty {
	t.Helper()
	return must(s.ChangeDuty(t.Context(), func(d *notify.Duty, _ time.Time) error { *d = duty; return nil }))(t)
}

func TestDutyIsStored(t *testing.T) { // section 19.10
	s, _ := newStore(t)
	d := createDestination(t, s, "d")
	change := func(change func(*notify.Duty)) error {
		return errorOf(s.ChangeDuty(t.Context(), func(d *notify.Duty, _ time.Time) error { change(d); return nil }))
	}
	ann := notify.Person{Name: "アン", DestinationID: d.ID, Windows: []notify.Window{aroundTheClock()}}
	override := notify.Override{ID: newID(), Person: ann.Name, StartsAt: noon, EndsAt: noon.Add(time.Hour), CreatedBy: "Hana"}
	setDuty(t, s, notify.Duty{People: []notify.Person{ann}, Overrides: []notify.Override{override}, Owner: "a.yaml"})
	got := must(s.Duty(t.Context()))(t)
	if got.Owner != "a.yaml" || got.Overrides[0] != override || got.People[0].Windows[0].Zone == nil || got.At(noon)[0].Name != ann.Name {
		t.Errorf("is %+v", got)
	}
	requireCode(t, change(func(d *notify.Duty) { d.People[0].DestinationID = newID() }), monitor.InvalidConfig)
	refused := errors.New("refused")
	expectError(t, "a change that is refused", errorOf(s.ChangeDuty(t.Context(), func(d *notify.Duty, _ time.Time) error { d.People = nil; return refused })), refused)
	check(t, s.DeleteDestination(t.Context(), d.ID))
	if got := must(s.Duty(t.Context()))(t); got.People[0].DestinationID != "" || got.People[0].Name != ann.Name {
		t.Errorf("after the destination was deleted: %+v", got)
	}
	setDuty(t, s, notify.Duty{})
	check(t, s.DeleteDestination(t.Context(), createDestination(t, s, "e").ID)) // of nobody
}

func TestWhenARouteMatchesIsStored(t *testing.T) { // section 19.2
	s, _ := newStore(t)
	r := must(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: "night", OnDuty: true, Windows: []notify.Window{aroundTheClock()}}))(t)
	if !r.OnDuty || len(r.Windows) != 1 || r.Windows[0].Zone == nil {
		t.Errorf("created %+v", r)
	}
	r = must(s.ChangeRoute(t.Context(), r.ID, func(r *notify.Route) error { r.OnDuty, r.Windows = false, nil; return nil }))(t)
	if r.OnDuty || r.Windows == nil || len(r.Windows) != 0 {
		t.Errorf("changed to %+v", r)
	}
	skipped := weekly()
	skipped.SkipUntil = noon.Add(time.Hour)
	skipped = must(s.CreateSilence(t.Context(), skipped))(t)
	expect(t, "skipped until", skipped.SkipUntil, noon.Add(time.Hour))
	skipped = must(s.ChangeSilence(t.Context(), skipped.ID, func(s *notify.Silence) error { s.SkipUntil = time.Time{}; return nil }))(t)
	expect(t, "skipped until", skipped.SkipUntil, time.Time{})
}

func TestWhatIsOpenIsToldWhenDutyIsHandedOver(t *testing.T) { // section 19.10
	s, _ := newStore(t)
	addDestination(t, s, notify.Ntfy, "team")
	people := []notify.Person{}
	for _, name := range []string{"ann", "ben"} {
		d := must(s.CreateDestination(t.Context(), notify.Destination{ID: newID(), Name: name, Kind: notify.Ntfy, Language: notify.English, Enabled: true}))(t)
		people = append(people, notify.Person{Name: name, DestinationID: d.ID})
	}
	must(s.CreateRoute(t.Context(), notify.Route{ID: newID(), Name: "duty", OnDuty: true}))(t)
	setDuty(t, s, notify.Duty{People: people})
	m := registerBlack(t, s, 1)
	expectSent(t, s, "team opened") // nobody is on duty

	handover := time.Now().Add(2 * time.Second)
	setDuty(t, s, notify.Duty{People: people, Overrides: []notify.Override{
		{Person: "ann", StartsAt: noon, EndsAt: handover}, {Person: "ben", StartsAt: handover, EndsAt: handover.Add(time.Hour)},
	}})
	expectSent(t, s, "ann opened")
	expectNext(t, s, 0, 2*time.Second)
	eventually(t, "ben is told after the hand-over", func() bool { return tellAll(t, s)["ben opened"] == 1 })

	resolveIncident(t, s, m.ID)
	expectSent(t, s, "team recovered", "ann recovered", "ben recovered")
}
