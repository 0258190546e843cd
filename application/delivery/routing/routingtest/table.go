package routingtest

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/application/delivery/routing"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// table holds rows in order. IDs and names are unique.
type table[R any] struct {
	rows     []R
	notFound monitor.Code
	names    func(R) (id, name string)
	clone    func(R) R
	changes  int
}

func (t *table[R]) all() (rows []R) {
	for _, r := range t.rows {
		rows = append(rows, t.clone(r))
	}
	return rows
}

func (t *table[R]) find(id string) (place int, r R, err error) {
	for place, r := range t.rows {
		if has, _ := t.names(r); has == id {
			return place, t.clone(r), nil
		}
	}
	return 0, r, monitor.Errorf(t.notFound, "nothing has the id %.60q", id)
}

func (t *table[R]) get(id string) (R, error) {
	_, r, err := t.find(id)
	return r, err
}

func (t *table[R]) insert(place int, r R) (R, error) {
	if err := t.checkName(r); err != nil {
		return *new(R), err
	}
	t.rows = slices.Insert(t.rows, place, t.clone(r))
	t.changes++
	return r, nil
}

func (t *table[R]) change(id string, change func(*R) error) (R, error) {
	place, r, err := t.find(id)
	if err == nil {
		err = change(&r)
	}
	if err == nil {
		err = t.checkName(r)
	}
	if err != nil {
		return *new(R), err
	}
	t.rows[place] = t.clone(r)
	t.changes++
	return r, nil
}

func (t *table[R]) delete(id string) {
	t.rows = slices.DeleteFunc(t.rows, func(r R) bool { has, _ := t.names(r); return has == id })
	t.changes++
}

func (t *table[R]) checkName(r R) error {
	id, name := t.names(r)
	for _, other := range t.rows {
		if otherID, taken := t.names(other); taken == name && otherID != id {
			return monitor.Errorf(routing.NameTaken, "another has the name %q", name)
		}
	}
	return nil
}
