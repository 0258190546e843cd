package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// What a worker pod is known by (section 8.1). The instance tells two
// installations in one namespace apart.
const (
	labelApp        = "app"
	labelMonitor    = "monitor-id"
	labelGeneration = "generation"
	labelInstance   = "app.kubernetes.io/instance"
	labelComponent  = "app.kubernetes.io/component"

	appName   = "stream-monitor"
	component = "worker"
)

// worker is a pod that is a worker of this installation.
type worker struct {
	supervisor.Worker
	name string
	uid  types.UID
}

// common is the labels that all worker pods of an installation have.
func common(instance string) labels.Set {
	return labels.Set{labelApp: appName, labelInstance: instance, labelComponent: component}
}

// identify tells whose worker a pod is; no worker of this installation: ours is
// false.
func identify(pod *corev1.Pod, instance string) (w worker, ours bool) {
	if !common(instance).AsSelector().Matches(labels.Set(pod.Labels)) {
		return w, false
	}
	id, err := monitor.ParseID(pod.Labels[labelMonitor])
	if err != nil || pod.Name != id.WorkerName() {
		return w, false
	}
	generation, err := strconv.Atoi(pod.Labels[labelGeneration])
	if err != nil || generation < 1 {
		return w, false
	}
	return worker{supervisor.Worker{ID: id, Generation: generation}, pod.Name, pod.UID}, true
}

// placeID names the pods of one installation. Namespace and instance have no
// slash, and what is cut short has a hash of the whole.
func placeID(namespace, instance string) string {
	const most = 63
	id := "kubernetes/" + namespace + "/" + instance
	if len(id) <= most {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	tail := "#" + hex.EncodeToString(sum[:12])
	return id[:most-len(tail)] + tail
}
