// Command cri-clean stops every container and removes every pod of the container
// runtime at a socket. The network plugins then undo their changes.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	limit = 90 * time.Second
	grace = 3 // seconds from SIGTERM to SIGKILL
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := clean(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "cri-clean:", err)
		os.Exit(1)
	}
}

func clean(ctx context.Context, socket string) error {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	runtime := cri.NewRuntimeServiceClient(conn)
	containers, err := runtime.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return err
	}
	var stopping sync.WaitGroup
	for _, c := range containers.Containers {
		stopping.Go(func() {
			_, _ = runtime.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: c.Id, Timeout: grace})
		})
	}
	stopping.Wait()
	pods, err := runtime.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		if _, err = runtime.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: p.Id}); err != nil {
			return err
		}
		if _, err = runtime.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: p.Id}); err != nil {
			return err
		}
	}
	return nil
}
