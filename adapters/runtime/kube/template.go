package kube

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// template is what all worker pods have in common, with the operator's part
// merged over it.
func (c Config) template() (*corev1.PodTemplateSpec, error) {
	ours := c.mold()
	if c.Template == "" {
		return ours, nil
	}
	part, err := readTemplate(c.Template)
	if err != nil {
		return nil, fmt.Errorf("kube: pod template %s: %w", c.Template, err)
	}
	merged, err := merge(ours, part)
	if err != nil {
		return nil, fmt.Errorf("kube: pod template %s: %w", c.Template, err)
	}
	return merged, nil
}

func readTemplate(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxTemplate+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxTemplate {
		return nil, fmt.Errorf("it is longer than %d bytes", maxTemplate)
	}
	return b, nil
}

// merge lays part, YAML, over a template, by strategic merge: lists of things
// that have names are merged by their names.
func merge(over *corev1.PodTemplateSpec, part []byte) (*corev1.PodTemplateSpec, error) {
	var fields map[string]any
	if err := yaml.UnmarshalStrict(part, &fields); err != nil {
		return nil, fmt.Errorf("it is not the YAML of an object: %w", err)
	}
	operators, err := checkFields(fields)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	original, err := json.Marshal(over)
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
	return &merged, fit(&merged, operators)
}

// checkFields finds what is no field of a PodTemplateSpec, or of another type.
// The directives of a merge are none, either, but allowed; the rest is returned.
func checkFields(fields map[string]any) (*corev1.PodTemplateSpec, error) {
	b, err := json.Marshal(plain(fields))
	if err != nil {
		return nil, err
	}
	var into corev1.PodTemplateSpec
	if err := yaml.UnmarshalStrict(b, &into); err != nil {
		return nil, fmt.Errorf("it is no part of a PodTemplateSpec: %w", err)
	}
	return &into, nil
}

// plain is a value without the directives of a merge, such as $patch: delete.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, of := range v {
			if !strings.HasPrefix(name, "$") {
				out[name] = plain(of)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, of := range v {
			out[i] = plain(of)
		}
		return out
	}
	return value
}
