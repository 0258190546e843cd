//go:build cluster

package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
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

// apiClient calls the API server through "kubectl proxy", as the user of the
// kubeconfig.
type apiClient struct {
	proxy *exec.Cmd
	url   string
	http  *http.Client
}

// object is any object of the API, with the fields that the tests read.
type object struct {
	Metadata struct {
		Name        string            `json:"name"`
		UID         string            `json:"uid"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
		Deletion    *time.Time        `json:"deletionTimestamp"`
	} `json:"metadata"`
	Type string            `json:"type"`
	Data map[string]string `json:"data"` // base64 in Secrets
	Spec struct {
		NodeName string   `json:"nodeName"`
		PodCIDRs []string `json:"podCIDRs"` // of a node
		Ports    []struct {
			Port     int `json:"port"`
			NodePort int `json:"nodePort"`
		} `json:"ports"`
		ClusterIP  string `json:"clusterIP"`
		Containers []struct {
			Name      string          `json:"name"`
			Image     string          `json:"image"`
			Env       json.RawMessage `json:"env"`
			Resources json.RawMessage `json:"resources"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase      string `json:"phase"`
		PodIP      string `json:"podIP"`
		Addresses  []struct{ Type, Address string }
		Containers []struct {
			Ready    bool `json:"ready"`
			Restarts int  `json:"restartCount"`
			State    struct {
				Running *struct {
					StartedAt time.Time `json:"startedAt"`
				} `json:"running"`
			} `json:"state"`
		} `json:"containerStatuses"`
	} `json:"status"`
	Rules json.RawMessage `json:"rules"`
}

// running reports whether a pod's container runs.
func (o object) running() bool {
	return o.Status.Phase == "Running" && len(o.Status.Containers) > 0 && o.Status.Containers[0].State.Running != nil
}

// startAPIClient starts the proxy.
func startAPIClient() (*apiClient, error) {
	k := &apiClient{proxy: command(context.Background(), "kubectl", "proxy", "--port=0"), http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}}
	out, err := k.proxy.StdoutPipe()
	if err == nil {
		err = k.proxy.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("kubectl proxy: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(line, "Starting to serve on ")
	if err != nil || !found {
		k.close()
		return nil, errors.Join(fmt.Errorf("kubectl proxy printed %q", line), err)
	}
	k.url = "http://" + strings.TrimSpace(address)
	return k, nil
}

func (k *apiClient) close() {
	_ = k.proxy.Process.Kill()
	_ = k.proxy.Wait() // it fails, because the process was killed
}

// call makes a request and decodes the answer into into, which may be nil.
func (k *apiClient) call(ctx context.Context, method, path, contentType string, body, into any) error {
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, k.url+path, bytes.NewReader(payload))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", contentType)
	res, err := k.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s: %s", method, path, res.Status, answer)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// get retries when the answer was cut off between the API server and the proxy,
// which happens rarely.
func (k *apiClient) get(ctx context.Context, path string, into any) (err error) {
	for range 3 {
		if err = k.call(ctx, http.MethodGet, path, "application/json", nil, into); !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
	}
	return err
}

func (k *apiClient) list(ctx context.Context, path string) ([]object, error) {
	var list struct {
		Items []object `json:"items"`
	}
	err := k.get(ctx, path, &list)
	return list.Items, err
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
