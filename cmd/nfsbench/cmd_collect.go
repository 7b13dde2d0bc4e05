package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/collect"
	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/collect/publish"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The environment variables in which the operator describes a pod.
const (
	envIndex        = "JOB_COMPLETION_INDEX" // set by Kubernetes in Indexed Jobs
	envNode         = "NODE_NAME"
	envLoaderCPU    = "LOADER_CPU_MILLIS"
	envLoaderMemory = "LOADER_MEMORY_BYTES"

	// defaultSecretsDir is where the operator mounts the credentials of arrays.
	defaultSecretsDir = "/etc/nfsbench/secrets"
)

// collectFlags are the flags of collect.
type collectFlags struct {
	plan, runDir         string
	configMap, outputDir string
	health, metrics      string
	secrets              string
	check                bool
	grace                time.Duration
}

// newCollectCommand returns the collect command, which samples counters beside a loader in another container.
func newCollectCommand(a *app) *cobra.Command {
	f := collectFlags{}
	cmd := &cobra.Command{
		Use:   "collect --plan FILE --run-dir DIR (--configmap NAMESPACE/NAME | --output-dir DIR)",
		Short: "Sample client and storage counters beside a loader and publish the result",
		Long: `Sample the counters of the client and of the storage beside an "nfsbench load"
with the same --run-dir. The collector publishes progress, partial results and
the final result, and stays until it is told to stop (SIGTERM). When that comes
before the loader's final event, the loader has crashed: the result then
says so, with all that was done until then.

It reads the index of its client from $` + envIndex + `, the name of the node from
$` + envNode + `, and the limits of the loader's container from $` + envLoaderCPU + ` and
$` + envLoaderMemory + `.

In a pod it is a native sidecar: an init container with restartPolicy Always,
with "nfsbench collect --check" as its startup probe.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.check {
				return collect.Check(f.runDir)
			}
			return f.run(cmd.Context(), a, os.Getenv)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.plan, "plan", "", "plan file")
	flags.StringVar(&f.runDir, "run-dir", "", "directory shared with the loader (required)")
	flags.StringVar(&f.configMap, "configmap", "", "publish to this ConfigMap, NAMESPACE/NAME, which must exist")
	flags.StringVar(&f.outputDir, "output-dir", "", "publish to files in this directory")
	flags.StringVar(&f.secrets, "secrets-dir", defaultSecretsDir,
		"folder with the credentials of the plan's storage sources, one folder each")
	flags.StringVar(&f.health, "health", "", "address that answers whether samples are taken, over HTTP (default: none)")
	flags.StringVar(&f.metrics, "metrics-address", "",
		"address that serves what happens now to Prometheus at /metrics, over HTTP (default: none)")
	flags.DurationVar(&f.grace, "grace", 20*time.Second, "time to publish the final result after SIGTERM")
	flags.BoolVar(&f.check, "check", false, "only check whether the collector of --run-dir has started")
	_ = cmd.MarkFlagRequired("run-dir") // fails for an unknown flag only
	cmd.MarkFlagsMutuallyExclusive("configmap", "output-dir")
	return cmd
}

func (f *collectFlags) run(ctx context.Context, a *app, getenv func(string) string) error {
	o, err := f.options(a, getenv)
	if err != nil {
		return cli.BadInput(err)
	}
	servers, err := f.servers(a.log)
	if err != nil {
		return cli.BadInput(err)
	}
	o.Started = func(s *collect.Session) {
		for _, w := range servers {
			w.start(s)
		}
	}
	err = collect.Run(ctx, o)
	for _, w := range servers {
		err = errors.Join(err, w.close())
	}
	return err
}

// sidecarServer serves HTTP on one address once sampling has begun.
type sidecarServer struct {
	listener net.Listener
	handler  func(*collect.Session) http.Handler
	web      http.Server
}

// servers listens on the addresses of the flags. If another container of the pod uses the port of the metrics, it
// serves no metrics: they are not worth a run.
func (f *collectFlags) servers(log *slog.Logger) ([]*sidecarServer, error) {
	var out []*sidecarServer
	for _, w := range []struct {
		address string
		handler func(*collect.Session) http.Handler
	}{
		{f.health, (*collect.Session).Health},
		{f.metrics, func(s *collect.Session) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("GET /metrics", s.Metrics())
			return mux
		}},
	} {
		if w.address == "" {
			continue
		}
		listener, err := net.Listen("tcp", w.address)
		if errors.Is(err, syscall.EADDRINUSE) && w.address == f.metrics {
			log.Warn("Metrics are not served", slog.Any("error", err))
			continue
		}
		if err != nil {
			for _, open := range out {
				err = errors.Join(err, open.close())
			}
			return nil, fmt.Errorf("listen on %q: %w", w.address, err)
		}
		out = append(out, &sidecarServer{listener: listener, handler: w.handler, web: http.Server{
			ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10,
		}})
	}
	return out, nil
}

func (w *sidecarServer) start(s *collect.Session) {
	w.web.Handler = w.handler(s)
	go func() { _ = w.web.Serve(w.listener) }() // ends with close; a probe notices an earlier end
}

func (w *sidecarServer) close() error {
	err := w.web.Close()
	// The web server closes the listener too, once it has started.
	if again := w.listener.Close(); !errors.Is(again, net.ErrClosed) {
		err = errors.Join(err, again)
	}
	return err
}

func (f *collectFlags) options(a *app, getenv func(string) string) (collect.RunOptions, error) {
	if f.plan == "" {
		return collect.RunOptions{}, errors.New("--plan is not set; give the plan file of the run")
	}
	plan, err := readFlagFile("--plan", f.plan, runfile.ReadPlan)
	if err != nil {
		return collect.RunOptions{}, err
	}
	index, err := number("", envIndex, getenv, 31)
	if err != nil {
		return collect.RunOptions{}, err
	}
	host, err := loaderHost(getenv)
	if err != nil {
		return collect.RunOptions{}, err
	}
	var publisher publish.Publisher
	if f.outputDir != "" {
		publisher, err = publish.NewDirectory(f.outputDir, int32(index))
	} else {
		publisher, err = configMapPublisher(a, f.configMap, ", or --output-dir", int32(index), getenv)
	}
	if err != nil {
		return collect.RunOptions{}, err
	}
	return collect.RunOptions{
		Options:   collect.Options{Plan: plan, Now: a.now, Log: a.log, Client: int32(index), SecretsDir: f.secrets},
		RunDir:    f.runDir,
		Host:      host,
		Publisher: publisher,
		Times:     collect.Times{Grace: f.grace},
	}, nil
}

// loaderHost describes the loader's side. The sidecar cannot see the limits of the loader's container, so they come
// from the environment.
func loaderHost(getenv func(string) string) (runfile.Host, error) {
	host := collect.HostFacts(procfs.Host(), false)
	host.Version = cli.Version(version)
	host.Node = getenv(envNode)
	millis, err := number("", envLoaderCPU, getenv, 31)
	if err != nil {
		return host, err
	}
	if millis > 0 {
		host.CPULimit = new(float64(millis) / 1000)
	}
	limit, err := number("", envLoaderMemory, getenv, 63)
	if err != nil {
		return host, err
	}
	if limit > 0 && (host.MemoryBytes == 0 || limit < host.MemoryBytes) {
		host.MemoryBytes = limit
	}
	return host, nil
}

// configMapPublisher publishes to the ConfigMap that --configmap names. Its error about the flag ends with instead.
func configMapPublisher(a *app, flag, instead string, index int32,
	getenv func(string) string,
) (*publish.ConfigMap, error) {
	namespace, name, ok := strings.Cut(flag, "/")
	if !ok || namespace == "" || name == "" {
		return nil, fmt.Errorf("--configmap is %q; give NAMESPACE/NAME%s", flag, instead)
	}
	api, err := publish.InCluster(getenv, publish.ServiceAccountDir, a.now, a.log)
	if err != nil {
		return nil, err
	}
	return publish.NewConfigMap(api, namespace, name, index), nil
}

// number parses a non-negative number from flag, or else from the environment variable; 0 if both are empty.
func number(flag, variable string, getenv func(string) string, bits int) (int64, error) {
	value := cmp.Or(flag, getenv(variable), "0")
	n, err := strconv.ParseUint(value, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("$%s is %q; give a whole number from 0 on", variable, value)
	}
	return int64(n), nil
}
