//go:build cluster

package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// kubeconfig is the variable that names the kubeconfig of the cluster.
const kubeconfig = "STREAM_MONITOR_TEST_KUBECONFIG"

// command runs kubectl or helm on the cluster of kubeconfig. Other settings in the
// environment are ignored.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "KUBECONFIG=") || strings.HasPrefix(variable, "HELM_KUBE") || strings.HasPrefix(variable, "HELM_NAMESPACE=")
	})
	cmd.Env = append(cmd.Env, "KUBECONFIG="+os.Getenv(kubeconfig))
	return cmd
}

// newClient returns a client of the API server, as the user of the kubeconfig.
func newClient() (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(kubeconfig))
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // tests poll
	config.Timeout = time.Minute
	return kubernetes.NewForConfig(config)
}

// running reports whether a pod's container runs.
func running(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Running != nil
}

// toolError is the error of kubectl or helm, with its output.
type toolError struct {
	command, stdout, stderr string
	err                     error
}

func (f *toolError) Error() string {
	return fmt.Sprintf("%s: %v\n%s%s", f.command, f.err, f.stdout, f.stderr)
}

func (f *toolError) Unwrap() error { return f.err }

// run runs kubectl or helm. Its error is a *toolError.
func run(ctx context.Context, name string, args ...string) (string, error) {
	return runWithInput(ctx, "", name, args...)
}

// kubectl runs kubectl, and fails the test if it fails.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(t.Context(), "kubectl", args...)
	must(t, err)
	return out
}

// runWithInput is run with standard input.
func runWithInput(ctx context.Context, input, name string, args ...string) (string, error) {
	cmd := command(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return out.String(), &toolError{command: name + " " + strings.Join(args, " "), stdout: out.String(), stderr: stderr.String(), err: err}
	}
	return out.String(), nil
}
