package postgres_test

import (
	"slices"
	"testing"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

func TestRoster(t *testing.T) {
	t.Run("active monitors are listed, ended ones are not", func(t *testing.T) {
		s := open(t, database(t))
		first, ended, second := registered(t, s, 1), registered(t, s, 2), registered(t, s, 3)
		accepted(t, s, second.ID, report(), monitor.Run)
		if _, err := s.End(t.Context(), ended.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		all, err := s.Active(t.Context())
		if err != nil || !slices.Equal(ids(all), []monitor.ID{first.ID, second.ID}) {
			t.Errorf("%v, %v", ids(all), err)
		}
	})

	t.Run("advancing gives the next generation", func(t *testing.T) {
		s := open(t, database(t))
		m := registered(t, s, 1)
		after, err := s.Advance(t.Context(), m.ID, m.Generation, "here")
		if err != nil || after.Generation != m.Generation+1 || after.ID != m.ID {
			t.Errorf("%+v, %v", after, err)
		}
	})

	t.Run("an ended or unknown monitor does not advance", func(t *testing.T) {
		s := open(t, database(t))
		m := registered(t, s, 1)
		if _, err := s.End(t.Context(), m.ID, monitor.Stopped, "", nil, noon); err != nil {
			t.Fatal(err)
		}
		_, err := s.Advance(t.Context(), m.ID, m.Generation, "here")
		refusedWith(t, err, monitor.NotFound)
		_, err = s.Advance(t.Context(), registration(2).ID, 1, "here")
		refusedWith(t, err, monitor.NotFound)
	})
}
