package kube_test

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// store makes a change known. Whoever calls it holds mu.
func (s *simulated) store(kind watch.EventType, p *corev1.Pod) {
	s.version++
	p = p.DeepCopy()
	if kind == watch.Deleted && len(p.Finalizers) > 0 { // it stays until somebody takes them away
		kind = watch.Modified
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.Now()), new(int64(0))
	}
	p.ResourceVersion = strconv.Itoa(s.version)
	if kind == watch.Deleted {
		delete(s.pods, p.Name)
	} else {
		s.pods[p.Name] = p
	}
	e := watch.Event{Type: kind, Object: p.DeepCopy()}
	s.history = append(s.history, change{s.version, e})
	for w := range s.watchers {
		if !w.IsStopped() && !s.deaf {
			w.Action(kind, e.Object.DeepCopyObject())
		}
	}
}

func (s *simulated) watch(o metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fail["watch"]; err != nil {
		return nil, err
	}
	from, err := strconv.Atoi(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if s.forgets && from < s.version {
		return nil, apierrors.NewResourceExpired("too old")
	}
	w := watch.NewRaceFreeFake()
	for _, c := range s.history {
		if c.version > from && !s.deaf {
			w.Action(c.event.Type, c.event.Object.DeepCopyObject())
		}
	}
	s.watchers[w] = true
	return w, nil
}

// cut ends all watches.
func (s *simulated) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		if !w.IsStopped() {
			w.Stop()
		}
	}
	clear(s.watchers)
}
