package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// podTemplate returns the template of all worker pods, with the operator's file
// merged over it.
func (c Config) podTemplate() (*corev1.PodTemplateSpec, error) {
	template := c.defaultPodTemplate()
	if c.PodTemplateFile == "" {
		return template, nil
	}
	patch, err := readPodTemplate(c.PodTemplateFile)
	if err != nil {
		return nil, fmt.Errorf("kube: pod template %s: %w", c.PodTemplateFile, err)
	}
	merged, err := mergePodTemplate(template, patch)
	if err != nil {
		return nil, fmt.Errorf("kube: pod template %s: %w", c.PodTemplateFile, err)
	}
	return merged, nil
}

func readPodTemplate(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	b, err := io.ReadAll(io.LimitReader(f, maxPodTemplateBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxPodTemplateBytes {
		return nil, fmt.Errorf("it is longer than %d bytes", maxPodTemplateBytes)
	}
	return b, nil
}

// mergePodTemplate applies a YAML patch to a template by strategic merge: lists
// whose elements have names are merged by name.
func mergePodTemplate(template *corev1.PodTemplateSpec, patchYAML []byte) (*corev1.PodTemplateSpec, error) {
	var fields map[string]any
	if err := yaml.UnmarshalStrict(patchYAML, &fields); err != nil {
		return nil, fmt.Errorf("it is not the YAML of an object: %w", err)
	}
	operator, err := decodePatch(fields)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	original, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	b, err := strategicpatch.StrategicMergePatch(original, patch, corev1.PodTemplateSpec{})
	if err != nil {
		return nil, fmt.Errorf("it cannot be merged: %w", err)
	}
	var merged corev1.PodTemplateSpec
	if err := json.Unmarshal(b, &merged); err != nil {
		return nil, fmt.Errorf("it cannot be merged: %w", err)
	}
	return &merged, fitRequests(&merged, operator)
}

// decodePatch decodes a patch without its merge directives. Errors: a field that
// a PodTemplateSpec does not have, or a value of the wrong type.
func decodePatch(fields map[string]any) (*corev1.PodTemplateSpec, error) {
	b, err := json.Marshal(withoutDirectives(fields))
	if err != nil {
		return nil, err
	}
	var decoded corev1.PodTemplateSpec
	if err := yaml.UnmarshalStrict(b, &decoded); err != nil {
		return nil, fmt.Errorf("it is no part of a PodTemplateSpec: %w", err)
	}
	return &decoded, nil
}

// withoutDirectives removes merge directives, such as $patch: delete.
func withoutDirectives(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, field := range v {
			if !strings.HasPrefix(name, "$") {
				out[name] = withoutDirectives(field)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = withoutDirectives(element)
		}
		return out
	}
	return value
}

// fitRequests lowers the worker's default requests to the operator's limits, as
// Kubernetes does with requests that are not set. A request that the operator has
// set, or that belongs to another container, is not changed. The error names the
// requests above their limit, because the API server would refuse every pod.
func fitRequests(merged, operator *corev1.PodTemplateSpec) error {
	worker, err := workerContainer(&merged.Spec)
	if err != nil {
		return err
	}
	operatorRequests := corev1.ResourceList{}
	if container, err := workerContainer(&operator.Spec); err == nil {
		operatorRequests = container.Resources.Requests
	}
	for name, limit := range worker.Resources.Limits {
		request, requested := worker.Resources.Requests[name]
		if _, explicit := operatorRequests[name]; requested && !explicit && request.Cmp(limit) > 0 {
			worker.Resources.Requests[name] = limit
		}
	}
	var errs []error
	for _, container := range slices.Concat(merged.Spec.InitContainers, merged.Spec.Containers) {
		errs = append(errs, checkRequests(container)...)
	}
	return errors.Join(errs...)
}

func checkRequests(container corev1.Container) (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(container.Resources.Requests)) {
		request, limit := container.Resources.Requests[name], container.Resources.Limits[name]
		if _, limited := container.Resources.Limits[name]; limited && request.Cmp(limit) > 0 {
			errs = append(errs, fmt.Errorf("container %s: requests.%s is %s, limits.%s is %s, and a request must not be above its limit: "+
				"lower the request or raise the limit", container.Name, name, &request, name, &limit))
		}
	}
	return errs
}
