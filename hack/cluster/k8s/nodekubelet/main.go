// Command nodekubelet is the kubelet alone, for the node in a virtual machine: on an
// emulated processor the start of all of Kubernetes takes minutes.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

func main() { os.Exit(cli.Run(app.NewKubeletCommand(context.Background()))) }
