package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Labels of a worker pod (section 8.1). The instance separates installations that
// share a namespace.
const (
	labelApp        = "app"
	labelMonitor    = "monitor-id"
	labelGeneration = "generation"
	labelInstance   = "app.kubernetes.io/instance"
	labelComponent  = "app.kubernetes.io/component"

	appName         = "stream-monitor"
	workerComponent = "worker"
)

// Names inside a worker pod.
const (
	containerName = "monitor"

	tmpVolume      = "tmp"
	tmpPath        = "/tmp"
	tmpSize        = "1Gi" // temporary files of tools, such as yt-dlp's JavaScript
	segmentsVolume = "workdir"
	segmentsSize   = "1Gi"
	segmentsPath   = "/tmp/segments"
	caVolume       = "gateway-ca"
	caPath         = "/etc/stream-monitor/ca"
	caKey          = "ca.crt"
	unprivilegedID = 65532 // user and group of the image
)

// workerPod identifies a pod that runs a worker of this installation.
type workerPod struct {
	supervisor.Worker
	name string
	uid  types.UID
}

// workerLabels are the labels that all worker pods of an installation share.
func workerLabels(instance string) labels.Set {
	return labels.Set{labelApp: appName, labelInstance: instance, labelComponent: workerComponent}
}

// parseWorkerPod returns the worker that a pod runs according to its labels. owned is false
// for a pod of another installation, and for a pod whose name or generation is not that of
// a worker.
func parseWorkerPod(pod *corev1.Pod, instance string) (p workerPod, owned bool) {
	if !workerLabels(instance).AsSelector().Matches(labels.Set(pod.Labels)) {
		return p, false
	}
	id, err := monitor.ParseID(pod.Labels[labelMonitor])
	if err != nil || pod.Name != id.WorkerName() {
		return p, false
	}
	generation, err := strconv.Atoi(pod.Labels[labelGeneration])
	if err != nil || generation < 1 {
		return p, false
	}
	return workerPod{supervisor.Worker{ID: id, Generation: generation}, pod.Name, pod.UID}, true
}

// runtimeID returns the ID of one installation's runtime. An ID of more than 63 characters
// is cut and ends in a hash. Namespace and instance contain no slash, so different
// installations have different IDs.
func runtimeID(namespace, instance string) string {
	const maxLength = 63
	id := "kubernetes/" + namespace + "/" + instance
	if len(id) <= maxLength {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	suffix := "#" + hex.EncodeToString(sum[:12])
	return id[:maxLength-len(suffix)] + suffix
}

// defaultPodTemplate builds the template of all worker pods as section 8.1 says, with the
// fewest rights. A worker is not root and has no capability and no service account token.
// It can write to /tmp and to the segments below it, 1 GiB each.
func (c Config) defaultPodTemplate() *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: workerLabels(c.Instance)},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyOnFailure,
			TerminationGracePeriodSeconds: new(wholeSeconds(c.Grace)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				RunAsUser:      new(int64(unprivilegedID)),
				RunAsGroup:     new(int64(unprivilegedID)),
				FSGroup:        new(int64(unprivilegedID)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Volumes: []corev1.Volume{
				{Name: segmentsVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse(segmentsSize))}}},
				{Name: tmpVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse(tmpSize))}}},
			},
			Containers: []corev1.Container{c.defaultContainer()},
		},
	}
	if c.CASecret != "" {
		t.Spec.Volumes = append(t.Spec.Volumes, corev1.Volume{Name: caVolume, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: c.CASecret, Items: []corev1.KeyToPath{{Key: caKey, Path: caKey}}},
		}})
		container := &t.Spec.Containers[0]
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: caVolume, MountPath: caPath, ReadOnly: true})
	}
	return t
}

func (c Config) defaultContainer() corev1.Container {
	return corev1.Container{
		Name:           containerName,
		Image:          c.Image,
		Args:           []string{"worker"},
		Env:            c.sharedEnv(),
		Ports:          []corev1.ContainerPort{{Name: "probes", ContainerPort: probePort, Protocol: corev1.ProtocolTCP}},
		LivenessProbe:  httpProbe("/healthz", 30),
		ReadinessProbe: httpProbe("/readyz", 10),
		Resources: corev1.ResourceRequirements{
			Requests: resources("256Mi", "100m"),
			Limits:   resources("512Mi", "500m"),
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: segmentsVolume, MountPath: segmentsPath},
			{Name: tmpVolume, MountPath: tmpPath},
		},
	}
}

// httpProbe is a probe of section 8.7.
func httpProbe(path string, periodSeconds int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("probes")}},
		PeriodSeconds:    periodSeconds,
		TimeoutSeconds:   5,
		FailureThreshold: 3,
	}
}

func resources(memory, cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourceCPU: resource.MustParse(cpu)}
}

// newPod builds the pod of one worker from the template. The template cannot
// change the pod's name, its identifying labels or its assignment.
func (c Config) newPod(template *corev1.PodTemplateSpec, namespace string, spec supervisor.WorkerSpec) (*corev1.Pod, error) {
	assignment, err := c.assignmentEnv(spec)
	if err != nil {
		return nil, err
	}
	template = template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.GenerateName, pod.Namespace = spec.ID.WorkerName(), "", namespace
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	maps.Copy(pod.Labels, workerLabels(c.Instance))
	pod.Labels[labelMonitor] = string(spec.ID)
	pod.Labels[labelGeneration] = strconv.Itoa(spec.Generation)
	container, err := workerContainer(&pod.Spec)
	if err != nil {
		return nil, err
	}
	container.Env = overrideEnv(assignment, container.Env)
	return pod, nil
}

func workerContainer(spec *corev1.PodSpec) (*corev1.Container, error) {
	i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == containerName })
	if i < 0 {
		return nil, errors.New("the pod has no container called " + containerName)
	}
	return &spec.Containers[i], nil
}
