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

// fakeCluster is an API server for pods, and a kubelet (fake_kubelet_test.go). The
// API server assigns UIDs and resource versions, replays the changes since a
// version to a watch, and deletes with a grace period and preconditions.
type fakeCluster struct {
	t        *testing.T
	client   *fake.Clientset
	ctx      context.Context
	kubelets sync.WaitGroup

	mu             sync.Mutex
	version        int
	pods           map[string]*corev1.Pod // by name
	history        []change
	watchers       map[*watch.RaceFreeFakeWatcher]bool
	lists          int              // so many lists were read
	failures       map[string]error // by verb
	watchHangs     bool             // watches deliver nothing
	historyExpired bool             // no watch can resume: it has to list again
	listsAreOld    bool             // lists are those of an empty namespace
	nodeDown       bool             // the kubelet does nothing
	beforeDelete   func()           // called once, before the next deletion
	deleteGraces   []int64          // grace periods of the deletions, in seconds
}

type change struct {
	version int
	event   watch.Event
}

func newFakeCluster(t *testing.T) *fakeCluster {
	f := &fakeCluster{t: t, version: 1, client: fake.NewClientset(), pods: map[string]*corev1.Pod{}, failures: map[string]error{},
		watchers: map[*watch.RaceFreeFakeWatcher]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	f.ctx = ctx
	t.Cleanup(func() { cancel(); f.kubelets.Wait() })
	f.client.PrependReactor("*", "pods", f.react)
	f.client.PrependWatchReactor("pods", func(a ktesting.Action) (bool, watch.Interface, error) {
		w, err := f.watch(a.(ktesting.WatchActionImpl).ListOptions)
		return true, w, err
	})
	return f
}

func (f *fakeCluster) set(change func(*fakeCluster)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// fail lets requests with these verbs fail from now on; with nil they succeed.
func (f *fakeCluster) fail(err error, verbs ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, verb := range verbs {
		f.failures[verb] = err
	}
}

func (f *fakeCluster) react(a ktesting.Action) (bool, runtime.Object, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.failures[a.GetVerb()]; err != nil {
		return true, nil, err
	}
	var out *corev1.Pod
	var err error
	switch a := a.(type) {
	case ktesting.ListActionImpl:
		return true, f.list(a.ListOptions), nil
	case ktesting.GetActionImpl:
		out, err = f.get(a.Name)
	case ktesting.CreateActionImpl:
		out, err = f.create(a.Object.(*corev1.Pod))
	case ktesting.DeleteActionImpl:
		return true, nil, f.delete(a.Name, a.DeleteOptions)
	default:
		return true, nil, fmt.Errorf("a launcher may not %s pods", a.GetVerb())
	}
	if err != nil {
		return true, nil, err
	}
	return true, out.DeepCopy(), nil
}

func (f *fakeCluster) list(o metav1.ListOptions) *corev1.PodList {
	f.lists++
	selector, _ := labels.Parse(o.LabelSelector)
	all := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(f.version)}}
	if f.listsAreOld {
		all.ResourceVersion = "1"
		return all
	}
	for _, name := range slices.Sorted(maps.Keys(f.pods)) {
		if p := f.pods[name]; selector.Matches(labels.Set(p.Labels)) {
			all.Items = append(all.Items, *p.DeepCopy())
		}
	}
	return all
}

func (f *fakeCluster) get(name string) (*corev1.Pod, error) {
	if p := f.pods[name]; p != nil {
		return p, nil
	}
	return nil, apierrors.NewNotFound(podResource, name)
}

func (f *fakeCluster) create(p *corev1.Pod) (*corev1.Pod, error) {
	if f.pods[p.Name] != nil {
		return nil, apierrors.NewAlreadyExists(podResource, p.Name)
	}
	p = p.DeepCopy()
	p.UID = types.UID(fmt.Sprintf("uid-%d", f.version+1))
	p.Status.Phase = corev1.PodPending
	f.record(watch.Added, p)
	f.kubelets.Go(func() { f.startContainer(p.Name, p.UID) })
	return f.pods[p.Name], nil
}

func (f *fakeCluster) delete(name string, o metav1.DeleteOptions) error {
	if callback := f.beforeDelete; callback != nil {
		f.beforeDelete = nil
		callback()
	}
	p, err := f.get(name)
	if err != nil {
		return err
	}
	if o.Preconditions != nil && o.Preconditions.UID != nil && *o.Preconditions.UID != p.UID {
		return apierrors.NewConflict(podResource, name, errors.New("it has another UID"))
	}
	grace := *o.GracePeriodSeconds
	f.deleteGraces = append(f.deleteGraces, grace)
	if grace == 0 || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		f.record(watch.Deleted, p)
		return nil
	}
	if p.DeletionTimestamp != nil && *p.DeletionGracePeriodSeconds <= grace {
		return nil
	}
	p = p.DeepCopy()
	p.DeletionTimestamp = new(metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second)))
	p.DeletionGracePeriodSeconds = &grace
	f.record(watch.Modified, p)
	f.kubelets.Go(func() { f.terminatePod(p.Name, p.UID) })
	return nil
}

// record stores a change and sends it to the watches. The caller holds mu.
func (f *fakeCluster) record(kind watch.EventType, p *corev1.Pod) {
	f.version++
	p = p.DeepCopy()
	if kind == watch.Deleted && len(p.Finalizers) > 0 { // the pod stays until they are removed
		kind = watch.Modified
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(metav1.Now()), new(int64(0))
	}
	p.ResourceVersion = strconv.Itoa(f.version)
	if kind == watch.Deleted {
		delete(f.pods, p.Name)
	} else {
		f.pods[p.Name] = p
	}
	e := watch.Event{Type: kind, Object: p.DeepCopy()}
	f.history = append(f.history, change{f.version, e})
	for w := range f.watchers {
		if !w.IsStopped() && !f.watchHangs {
			w.Action(kind, e.Object.DeepCopyObject())
		}
	}
}

func (f *fakeCluster) watch(o metav1.ListOptions) (watch.Interface, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.failures["watch"]; err != nil {
		return nil, err
	}
	from, err := strconv.Atoi(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if f.historyExpired && from < f.version {
		return nil, apierrors.NewResourceExpired("too old")
	}
	w := watch.NewRaceFreeFake()
	for _, c := range f.history {
		if c.version > from && !f.watchHangs {
			w.Action(c.event.Type, c.event.Object.DeepCopyObject())
		}
	}
	f.watchers[w] = true
	if s := o.TimeoutSeconds; s != nil {
		f.kubelets.Go(func() {
			select {
			case <-time.After(time.Duration(*s) * time.Second):
			case <-f.ctx.Done():
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.watchers, w)
			w.Stop()
		})
	}
	return w, nil
}

// closeWatches ends all watches.
func (f *fakeCluster) closeWatches() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		if !w.IsStopped() {
			w.Stop()
		}
	}
	clear(f.watchers)
}
