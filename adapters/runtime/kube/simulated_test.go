package kube_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

var podResource = corev1.Resource("pods")

// simulated is as much of a cluster as pods need: an API server that gives UIDs
// and versions, replays what a watch has missed, deletes with grace and on
// condition, and a kubelet (kubelet_test.go).
type simulated struct {
	t        *testing.T
	client   *fake.Clientset
	alive    context.Context
	kubelets sync.WaitGroup

	mu       sync.Mutex
	version  int
	pods     map[string]*corev1.Pod // by name
	history  []change
	watchers map[*watch.RaceFreeFakeWatcher]bool
	calls    []string         // create, delete, … and the name
	fail     map[string]error // of a verb
	deaf     bool             // watches hang
	forgets  bool             // what a watch has missed is not known any more
	hides    bool             // lists show nothing
	noNode   bool             // no kubelet does anything
	atDelete func()           // happens once, before a deletion
	graces   []int64          // of the deletions that were asked for

	crashPause time.Duration // of a kubelet before the second restart, doubled
}

type change struct {
	version int
	event   watch.Event
}

func simulate(t *testing.T) *simulated {
	s := &simulated{t: t, client: fake.NewClientset(), pods: map[string]*corev1.Pod{}, fail: map[string]error{},
		watchers: map[*watch.RaceFreeFakeWatcher]bool{}, crashPause: 10 * time.Second}
	alive, cancel := context.WithCancel(context.Background())
	s.alive = alive
	t.Cleanup(func() { cancel(); s.kubelets.Wait() })
	s.client.PrependReactor("*", "pods", s.react)
	s.client.PrependWatchReactor("pods", func(a ktesting.Action) (bool, watch.Interface, error) {
		w, err := s.watch(a.(ktesting.WatchActionImpl).ListOptions)
		return true, w, err
	})
	return s
}

func (s *simulated) set(change func(*simulated)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *simulated) react(a ktesting.Action) (bool, runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fail[a.GetVerb()]; err != nil {
		return true, nil, err
	}
	var out *corev1.Pod
	var err error
	switch a := a.(type) {
	case ktesting.ListActionImpl:
		return true, s.list(a.ListOptions), nil
	case ktesting.GetActionImpl:
		out, err = s.named(a.Name)
	case ktesting.CreateActionImpl:
		out, err = s.create(a.Object.(*corev1.Pod))
	case ktesting.DeleteActionImpl:
		return true, nil, s.remove(a.Name, a.DeleteOptions)
	default:
		return true, nil, fmt.Errorf("a launcher may not %s pods", a.GetVerb())
	}
	if err != nil {
		return true, nil, err
	}
	return true, out.DeepCopy(), nil
}

func (s *simulated) list(o metav1.ListOptions) *corev1.PodList {
	selector, _ := labels.Parse(o.LabelSelector)
	all := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		if p := s.pods[name]; !s.hides && selector.Matches(labels.Set(p.Labels)) {
			all.Items = append(all.Items, *p.DeepCopy())
		}
	}
	return all
}

func (s *simulated) named(name string) (*corev1.Pod, error) {
	if p := s.pods[name]; p != nil {
		return p, nil
	}
	return nil, apierrors.NewNotFound(podResource, name)
}

func (s *simulated) create(p *corev1.Pod) (*corev1.Pod, error) {
	s.calls = append(s.calls, "create "+p.Name+" "+p.Labels["generation"])
	if s.pods[p.Name] != nil {
		return nil, apierrors.NewAlreadyExists(podResource, p.Name)
	}
	p = p.DeepCopy()
	p.UID = types.UID(fmt.Sprintf("uid-%d", s.version+1))
	p.Status.Phase = corev1.PodPending
	s.store(watch.Added, p)
	s.kubelets.Go(func() { s.run(p.Name, p.UID) })
	return p, nil
}

func (s *simulated) remove(name string, o metav1.DeleteOptions) error {
	s.calls = append(s.calls, "delete "+name)
	if happens := s.atDelete; happens != nil {
		s.atDelete = nil
		happens()
	}
	p, err := s.named(name)
	if err != nil {
		return err
	}
	if o.Preconditions != nil && o.Preconditions.UID != nil && *o.Preconditions.UID != p.UID {
		return apierrors.NewConflict(podResource, name, errors.New("it has another UID"))
	}
	grace := *o.GracePeriodSeconds
	s.graces = append(s.graces, grace)
	if grace == 0 || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		s.store(watch.Deleted, p)
		return nil
	}
	if p.DeletionTimestamp != nil && *p.DeletionGracePeriodSeconds <= grace {
		return nil
	}
	p = p.DeepCopy()
	p.DeletionTimestamp = new(metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second)))
	p.DeletionGracePeriodSeconds = &grace
	s.store(watch.Modified, p)
	s.kubelets.Go(func() { s.terminate(p.Name, p.UID) })
	return nil
}
