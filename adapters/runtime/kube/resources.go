package kube

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// fit lowers a request of the worker's that the operator has not set to the limit
// that was, as Kubernetes does with one that nobody has set. One that was set, or
// of another container, stays: the error names what exceeds its limit, since each
// pod would be refused for it.
func fit(merged, operators *corev1.PodTemplateSpec) error {
	worker, err := theContainer(&merged.Spec)
	if err != nil {
		return err
	}
	set := corev1.ResourceList{}
	if theirs, err := theContainer(&operators.Spec); err == nil {
		set = theirs.Resources.Requests
	}
	for name, limit := range worker.Resources.Limits {
		request, requested := worker.Resources.Requests[name]
		if _, kept := set[name]; requested && !kept && request.Cmp(limit) > 0 {
			worker.Resources.Requests[name] = limit
		}
	}
	var wrong error
	for _, c := range slices.Concat(merged.Spec.InitContainers, merged.Spec.Containers) {
		wrong = errors.Join(wrong, within(c))
	}
	return wrong
}

// within is nil if no request of a container exceeds its limit.
func within(c corev1.Container) (wrong error) {
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Requests)) {
		request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
		if _, limited := c.Resources.Limits[name]; limited && request.Cmp(limit) > 0 {
			wrong = errors.Join(wrong, fmt.Errorf("container %s: requests.%s is %s, limits.%s is %s, and a request may be its limit at most: "+
				"lower the request or raise the limit", c.Name, name, &request, name, &limit))
		}
	}
	return wrong
}
