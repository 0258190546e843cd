//go:build cluster

package cluster_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

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

// bytesAt returns the quantity at a path of the manifests.
func bytesAt(t *testing.T, all manifests, path string) int64 {
	t.Helper()
	text, _ := all.field(path).(string)
	q, err := resource.ParseQuantity(strings.TrimSuffix(text, "B"))
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
	heap, tmp := bytesAt(t, all, config+"GOMEMLIMIT"), bytesAt(t, all, gatewayPod+"volumes 0 emptyDir sizeLimit")
	limit := bytesAt(t, all, gatewayPod+"containers 0 resources limits memory")
	if sum := heap + tmp + monitors.MaxPreviews*question; sum > limit {
		t.Errorf("a gateway with %d previews may take %d MiB, and has %d MiB", monitors.MaxPreviews, sum>>20, limit>>20)
	}
	limit = bytesAt(t, all, workerPod+"containers 0 resources limits memory")
	const ffmpegs = 3 // a segment that segment-decoder has refused, a capture, a thumbnail
	const segmentDecoder = decoder.DefaultMaxMemory + ffmpeg.MaxProgram
	if sum := int64(workerMemory + segmentDecoder + ffmpegs*ffmpeg.DefaultMaxMemory + question); sum > limit {
		t.Errorf("a worker with its tools may take %d MiB, and has %d MiB", sum>>20, limit>>20)
	}
}

func TestTheChartsAutoscalerIgnoresAPreview(t *testing.T) {
	const betweenMeasurements = time.Minute // at most, by default, and for an autoscaler that has just looked
	const scaler = "HorizontalPodAutoscaler/stream-monitor-gateway spec "
	all := rendered(t)
	window, _ := all.field(scaler + "behavior scaleUp stabilizationWindowSeconds").(float64)
	if lasts := monitors.PreviewTimeout + 2*betweenMeasurements; time.Duration(window)*time.Second <= lasts {
		t.Errorf("a target must be passed for %v s, and a preview may be seen for %v", window, lasts)
	}
	percent, _ := all.field(scaler + "metrics 1 resource target averageUtilization").(float64)
	if target := bytesAt(t, all, gatewayPod+"containers 0 resources requests memory") * int64(percent) / 100; gatewayMemory+toolPages > target {
		t.Errorf("after a preview a gateway takes %d MiB, and another one is started at %d MiB", (gatewayMemory+toolPages)>>20, target>>20)
	}
}

// stopTimeout adds up the time limits of a gateway's stop after draining, in
// seconds. It reads them from the code.
func stopTimeout(t *testing.T) (sum float64) {
	t.Helper()
	for _, limit := range []struct{ file, name string }{
		{"cmd/stream-monitor/gateway.go", "requestsLimit"},       // of the public API
		{"adapters/runtime/kube/podclient.go", "requestTimeout"}, // a creation in progress
		{"application/supervisor/config.go", "exchangeTimeout"},  // collecting the monitors to hand over
		{"cmd/stream-monitor/gateway.go", "workersLimit"},
		{"cmd/stream-monitor/gateway.go", "releaseLimit"},
		{"cmd/stream-monitor/gateway.go", "requestsLimit"}, // of the internal API
	} {
		code, err := os.ReadFile(filepath.Join("..", "..", "..", limit.file))
		must(t, err)
		found := regexp.MustCompile(`(?m)^\s*` + limit.name + `\s*= (\d+) \* time\.Second\b`).FindSubmatch(code)
		if found == nil {
			t.Fatalf("%s has no %s in seconds", limit.file, limit.name)
		}
		n, err := strconv.ParseFloat(string(found[1]), 64)
		must(t, err)
		sum += n
	}
	return sum
}

func TestTheChartGivesGatewaysTimeToStop(t *testing.T) {
	for _, c := range []struct {
		set                  []string
		drain, hook, atLeast float64
	}{
		{nil, 10, 240, 240},
		{[]string{"uninstall.timeoutSeconds=30"}, 10, 0, 30},
		{[]string{"uninstall.timeoutSeconds=3600"}, 10, 3600, 3600},
		{[]string{"gateway.drainSeconds=300"}, 300, 0, 240},
	} {
		t.Run(strings.Join(c.set, ","), func(t *testing.T) {
			all := rendered(t, c.set...)
			grace, _ := all.field(gatewayPod + "terminationGracePeriodSeconds").(float64)
			if needed := c.drain + stopTimeout(t); grace < needed {
				t.Errorf("a gateway that drains for %v s has %v s to stop, want at least %v s", c.drain, grace, needed)
			}
			hook, _ := all.field("Job/stream-monitor-uninstall spec activeDeadlineSeconds").(float64)
			if hook < max(c.atLeast, grace+60) || c.hook != 0 && hook != c.hook {
				t.Errorf("the uninstall hook has %v s, the gateways have %v s", hook, grace)
			}
		})
	}
}
