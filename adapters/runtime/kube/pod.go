package kube

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// Inside a worker pod.
const (
	containerName = "monitor"

	tmpVolume    = "tmp"
	tmpPath      = "/tmp"
	tmpSize      = "1Gi" // what tools put aside, such as yt-dlp's JavaScript
	workVolume   = "workdir"
	workPath     = "/tmp/segments"
	caVolume     = "gateway-ca"
	caPath       = "/etc/stream-monitor/ca"
	caKey        = "ca.crt"
	unprivileged = 65532 // user and group, those of the image
)

// mold is what all worker pods have in common: section 8.1, with as few rights
// as a worker gets by with.
func (c Config) mold() *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: common(c.Instance)},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyOnFailure,
			TerminationGracePeriodSeconds: new(seconds(c.Grace)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				RunAsUser:      new(int64(unprivileged)),
				RunAsGroup:     new(int64(unprivileged)),
				FSGroup:        new(int64(unprivileged)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Volumes: []corev1.Volume{
				{Name: workVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: tmpVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse(tmpSize))}}},
			},
			Containers: []corev1.Container{{
				Name:           containerName,
				Image:          c.Image,
				Args:           []string{"worker"},
				Env:            c.settings(),
				Ports:          []corev1.ContainerPort{{Name: "probes", ContainerPort: int32(c.ProbePort), Protocol: corev1.ProtocolTCP}}, //nolint:gosec // it is at most 65535 (complete)
				LivenessProbe:  probe("/healthz", 30),
				ReadinessProbe: probe("/readyz", 10),
				Resources: corev1.ResourceRequirements{
					Requests: amounts("256Mi", "100m"),
					Limits:   amounts("512Mi", "500m"),
				},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false),
					ReadOnlyRootFilesystem:   new(true),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
				VolumeMounts: []corev1.VolumeMount{
					{Name: workVolume, MountPath: workPath},
					{Name: tmpVolume, MountPath: tmpPath},
				},
			}},
		},
	}
	if c.CASecret != "" {
		t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: caVolume, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: c.CASecret, Items: []corev1.KeyToPath{{Key: caKey, Path: caKey}}},
		}})
		of := &t.Spec.Containers[0]
		of.VolumeMounts = append(of.VolumeMounts, corev1.VolumeMount{Name: caVolume, MountPath: caPath, ReadOnly: true})
	}
	return t
}

// pod is the worker pod of a job, made from what they have in common.
func pod(t *corev1.PodTemplateSpec, namespace string, j supervisor.WorkerSpec, instance string) (*corev1.Pod, error) {
	own, err := assignment(j)
	if err != nil {
		return nil, err
	}
	t = t.DeepCopy()
	p := &corev1.Pod{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
	p.Name, p.GenerateName, p.Namespace = j.ID.WorkerName(), "", namespace
	if p.Labels == nil {
		p.Labels = map[string]string{}
	}
	maps.Copy(p.Labels, common(instance))
	p.Labels[labelMonitor] = string(j.ID)
	p.Labels[labelGeneration] = strconv.Itoa(j.Generation)
	of, err := theContainer(&p.Spec)
	if err != nil {
		return nil, err
	}
	of.Env = assign(own, of.Env)
	return p, nil
}

// theContainer is the one in which the worker runs.
func theContainer(s *corev1.PodSpec) (*corev1.Container, error) {
	i := slices.IndexFunc(s.Containers, func(c corev1.Container) bool { return c.Name == containerName })
	if i < 0 {
		return nil, errors.New("there is no container called " + containerName)
	}
	return &s.Containers[i], nil
}

// probe is one of section 8.7.
func probe(path string, period int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("probes")}},
		PeriodSeconds:    period,
		TimeoutSeconds:   5,
		FailureThreshold: 3,
	}
}

func amounts(memory, cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourceCPU: resource.MustParse(cpu)}
}
