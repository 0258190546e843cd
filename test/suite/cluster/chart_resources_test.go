//go:build cluster

package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ffmpeg/decoder"
	"github.com/stream-monitor/stream-monitor/adapters/stream/streamlink"
	"github.com/stream-monitor/stream-monitor/adapters/stream/ytdlp"
	"github.com/stream-monitor/stream-monitor/application/monitors"
)

// Bytes. What this program holds is measured (docs/operations/sizing.md); tools have limits.
const (
	gatewayMemory = 40 << 20
	workerMemory  = 64 << 20
	toolPages     = 100 << 20 // of the programs of Python and deno, which stay counted after a preview

	question = ytdlp.Processes * ytdlp.MaxMemory // streamlink is asked when yt-dlp has ended
)

// workerPod returns the template of worker pods.
func workerPod(t *testing.T, all map[string]manifest) (pod manifest) {
	t.Helper()
	text, _ := all["ConfigMap/stream-monitor-worker"].field("data", "pod.yaml").(string)
	must(t, yaml.UnmarshalStrict([]byte(text), &pod))
	return pod
}

// quantity returns a number of bytes of a manifest.
func quantity(t *testing.T, v any) int64 {
	t.Helper()
	text, _ := v.(string)
	q, err := resource.ParseQuantity(text)
	must(t, err)
	return q.Value()
}

// The kubelet makes the kernel end all processes of a container together (memory.oom.group), so
// that no tool may bring a container to its limit.
func TestTheChartsContainersHoldTheirToolsAtTheirLimits(t *testing.T) {
	if streamlink.MaxMemory > question {
		t.Fatal("streamlink may take more than yt-dlp and deno")
	}
	all := rendered(t)
	gateway := manifest(all["Deployment/stream-monitor-gateway"].field("spec", "template", "spec").(map[string]any))
	limit := quantity(t, gateway.field("containers", 0, "resources", "limits", "memory"))
	heap := quantity(t, gatewayConfig(all).field("data", "GOMEMLIMIT").(string)[:len("256Mi")])
	tmp := quantity(t, gateway.field("volumes", 0, "emptyDir", "sizeLimit"))
	if sum := heap + tmp + monitors.MaxPreviews*question; sum > limit {
		t.Errorf("a gateway with %d previews may take %d MiB, and has %d MiB", monitors.MaxPreviews, sum>>20, limit>>20)
	}
	limit = quantity(t, workerPod(t, all).field("spec", "containers", 0, "resources", "limits", "memory"))
	const ffmpegs = 3 // a segment that segment-decoder has refused, a capture, a thumbnail
	const segmentDecoder = decoder.DefaultMaxMemory + ffmpeg.MaxProgram
	if sum := int64(workerMemory + segmentDecoder + ffmpegs*ffmpeg.DefaultMaxMemory + question); sum > limit {
		t.Errorf("a worker with its tools may take %d MiB, and has %d MiB", sum>>20, limit>>20)
	}
}

func TestTheChartsAutoscalerIgnoresAPreview(t *testing.T) {
	const betweenMeasurements = time.Minute // at most, by default, and for an autoscaler that has just looked
	all := rendered(t)
	spec := manifest(all["HorizontalPodAutoscaler/stream-monitor-gateway"].field("spec").(map[string]any))
	window, _ := spec.field("behavior", "scaleUp", "stabilizationWindowSeconds").(float64)
	if lasts := monitors.PreviewTimeout + 2*betweenMeasurements; time.Duration(window)*time.Second <= lasts {
		t.Errorf("a target must be passed for %v s, and a preview may be seen for %v", window, lasts)
	}
	request := quantity(t, all["Deployment/stream-monitor-gateway"].field("spec", "template", "spec", "containers", 0, "resources", "requests", "memory"))
	percent, _ := spec.field("metrics", 1, "resource", "target", "averageUtilization").(float64)
	if target := request * int64(percent) / 100; gatewayMemory+toolPages > target {
		t.Errorf("after a preview a gateway takes %d MiB, and another one is started at %d MiB", (gatewayMemory+toolPages)>>20, target>>20)
	}
}

// A volume on a disk that outgrows its limit ends the pod. Tools fill caches.
func TestTheChartsGatewayIsNotEvictedByATool(t *testing.T) {
	tmp, _ := rendered(t)["Deployment/stream-monitor-gateway"].field("spec", "template", "spec", "volumes", 0).(map[string]any)
	expectSameJSON(t, "its /tmp", jsonText(tmp), `{"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}}`)
}

func TestTheChartSchedulesPodsWhereTheImageRuns(t *testing.T) {
	for name, c := range map[string]struct {
		set  []string
		want string
	}{
		"the default":             {nil, `{"kubernetes.io/arch": "amd64"}`},
		"arm64":                   {[]string{"image.architecture=arm64"}, `{"kubernetes.io/arch": "arm64"}`},
		"all":                     {[]string{"image.architecture="}, `null`},
		"beside other labels":     {[]string{"gateway.nodeSelector.disk=ssd", "worker.nodeSelector.disk=ssd"}, `{"kubernetes.io/arch": "amd64", "disk": "ssd"}`},
		"the operator's own word": {[]string{`gateway.nodeSelector.kubernetes\.io/arch=s390x`, `worker.nodeSelector.kubernetes\.io/arch=s390x`}, `{"kubernetes.io/arch": "s390x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			all := rendered(t, c.set...)
			for pod, selector := range map[string]any{
				"the gateway":    all["Deployment/stream-monitor-gateway"].field("spec", "template", "spec", "nodeSelector"),
				"the hook":       all["Job/stream-monitor-uninstall"].field("spec", "template", "spec", "nodeSelector"),
				"the test":       all["Pod/stream-monitor-test"].field("spec", "nodeSelector"),
				"a worker's pod": workerPod(t, all).field("spec", "nodeSelector"),
			} {
				expectSameJSON(t, pod, jsonText(selector), c.want)
			}
		})
	}
}

func TestTheChartsIngressLeadsToThePublicPortAlone(t *testing.T) {
	if all := rendered(t); all["Ingress/stream-monitor"] != nil {
		t.Error("there is an Ingress by default")
	}
	enabled := []string{"ingress.enabled=true", "ingress.host=monitor.example.com"}
	spec := func(set ...string) string {
		return jsonText(rendered(t, append(enabled, set...)...)["Ingress/stream-monitor"].field("spec"))
	}
	const rule = `{"host": "monitor.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix",
		"backend": {"service": {"name": "stream-monitor", "port": {"number": %s}}}}]}}`
	expectSameJSON(t, "the shortest", spec(), `{"rules": [`+fmt.Sprintf(rule, "443")+`]}`)
	expectSameJSON(t, "plain HTTP", spec("tls.enabled=false"), `{"rules": [`+fmt.Sprintf(rule, "80")+`]}`)
	expectSameJSON(t, "all", spec("ingress.className=nginx", "ingress.tlsSecret=web", "service.port=8443"),
		`{"ingressClassName": "nginx", "tls": [{"hosts": ["monitor.example.com"], "secretName": "web"}], "rules": [`+fmt.Sprintf(rule, "8443")+`]}`)
	annotated := rendered(t, append(enabled, "ingress.annotations.a=b")...)["Ingress/stream-monitor"]
	expectSameJSON(t, "its annotations", jsonText(annotated.field("metadata", "annotations")), `{"a": "b"}`)
	const warning = "all clients of the Ingress count as one"
	for _, c := range []struct {
		set    []string
		warned bool
	}{{enabled, true}, {append(enabled, "settings.TRUSTED_PROXIES=10.0.0.0/8"), false}, {nil, false}} {
		if notes := renderNotes(t, append(c.set, tag)...); strings.Contains(notes, warning) != c.warned {
			t.Errorf("%v: the notes are %s", c.set, notes)
		}
	}
}
