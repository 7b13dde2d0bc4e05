// Command manager is the operator: it reconciles NFSBenchmarks and their suites.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/benchmark"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/controllers/suite"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// version is set by the linker.
var version = "dev"

// options holds the flags.
type options struct {
	image, pullPolicy   string
	namespaces          string
	leaseNamespace      string
	tridentNamespace    string
	metricsAddr         string
	metricsInsecure     bool
	metricsBenchmarks   int
	metricsMaxAge       time.Duration
	liveMetricsPort     int
	healthAddr          string
	leaderElection      bool
	leaderElectionSpace string
	workers             int
	suites              bool
	policy              string
	podDefaults         string
	check               bool
	networkPolicies     bool
	assignedUser        bool
	zap                 zap.Options
	showVersion         bool
}

func main() {
	o := parse()
	if o.showVersion {
		fmt.Println(version)
		return
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.zap)))
	err := start(o)
	if err != nil && o.check { // plain text, not a log line
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err != nil {
		ctrl.Log.Error(err, "Stopping the manager")
		os.Exit(1)
	}
}

func parse() options {
	o := options{}
	flag.StringVar(&o.image, "image", "", "image of the pods that load, collect and serve; required")
	flag.StringVar(&o.pullPolicy, "image-pull-policy", string(corev1.PullIfNotPresent), "pull policy of that image")
	flag.StringVar(&o.namespaces, "namespaces", "", "namespaces to watch, comma-separated; empty: all")
	flag.StringVar(&o.leaseNamespace, "lease-namespace", os.Getenv("POD_NAMESPACE"),
		"namespace of the Leases that keep runs from sharing a target; empty: that of each benchmark")
	flag.StringVar(&o.tridentNamespace, "trident-namespace", trident.DefaultNamespace,
		"namespace of NetApp Trident, where the volumes of claims are looked up; spec.storage.trident names its own")
	flag.StringVar(&o.metricsAddr, "metrics-bind-address", ":8443", "address of the metrics; 0 turns them off")
	flag.BoolVar(&o.metricsInsecure, "metrics-insecure", false, "serve metrics over HTTP without authentication")
	flag.IntVar(&o.metricsBenchmarks, "metrics-benchmarks", 200,
		"export metrics of so many of the most recently finished benchmarks, and of as many unfinished ones")
	flag.DurationVar(&o.metricsMaxAge, "metrics-max-age", 14*24*time.Hour,
		"how long metrics of a benchmark are exported after its end")
	flag.IntVar(&o.liveMetricsPort, "live-metrics-port", 0,
		"port where the pods of a run tell Prometheus what happens now; 0: nowhere")
	flag.StringVar(&o.healthAddr, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	flag.BoolVar(&o.leaderElection, "leader-elect", false, "let one of several managers work at a time")
	flag.StringVar(&o.leaderElectionSpace, "leader-election-namespace", os.Getenv("POD_NAMESPACE"),
		"namespace of the leader's Lease")
	flag.IntVar(&o.workers, "workers", 4, "benchmarks that are reconciled at the same time")
	flag.BoolVar(&o.suites, "suites", true,
		"reconcile NFSBenchmarkSuites too, which Argo Workflows runs; it need not be installed")
	flag.BoolVar(&o.networkPolicies, "network-policies", true,
		"create a NetworkPolicy for the pods of each benchmark: nobody but pods of the same run connects to them")
	flag.BoolVar(&o.assignedUser, "assigned-user", false,
		"leave the user of the pods of benchmarks to the platform, as OpenShift's SCC restricted-v2 requires")
	flag.StringVar(&o.podDefaults, "pod-defaults", "", "file with defaults of spec.pods of all benchmarks, as YAML")
	flag.StringVar(&o.policy, "policy", "",
		"ConfigMap with the policy, as NAMESPACE/NAME: what benchmarks may use; empty: the strictest one, in which no node "+
			"mounts an export")
	flag.BoolVar(&o.check, "check", false,
		"check the installation and exit: the API server takes benchmarks, and with --leader-elect a manager leads")
	flag.BoolVar(&o.showVersion, "version", false, "print the version and exit")
	o.zap.BindFlags(flag.CommandLine)
	flag.Parse()
	return o
}

func start(o options) error {
	if o.image == "" {
		return errors.New("--image is empty: set the image of the pods that load, collect and serve")
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find a cluster: %w", err)
	}
	if !o.check {
		return run(o, cfg, scheme)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	return check(context.Background(), c, o.leaderElectionSpace, o.leaderElection, os.Stdout)
}

func run(o options, cfg *rest.Config, scheme *runtime.Scheme) error {
	metrics := metricsserver.Options{BindAddress: o.metricsAddr, SecureServing: !o.metricsInsecure}
	if metrics.SecureServing {
		metrics.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         benchmark.CacheOptions(namespaces(o.namespaces), o.leaseNamespace),
		Client:                        benchmark.ClientOptions(),
		Metrics:                       metrics,
		HealthProbeBindAddress:        o.healthAddr,
		LeaderElection:                o.leaderElection,
		LeaderElectionID:              leaderLease,
		LeaderElectionNamespace:       o.leaderElectionSpace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	reader, err := pass.NewReader(cfg, client.Options{Scheme: scheme, Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("make the reader: %w", err)
	}
	allowed, err := openPolicy(context.Background(), reader, o.policy)
	if err != nil {
		return err
	}
	pods, err := readPodDefaults(o.podDefaults)
	if err != nil {
		return err
	}
	r := benchmark.NewReconciler(benchmark.Options{
		Policy:   allowed,
		Client:   mgr.GetClient(),
		Reader:   reader,
		Recorder: mgr.GetEventRecorder("nfsbench"),
		Clock:    clock.RealClock{},
		Images: manifest.Images{
			NFSBench: o.image, PullPolicy: corev1.PullPolicy(o.pullPolicy),
			LiveMetricsPort: int32(o.liveMetricsPort), AssignedUser: o.assignedUser,
			Pods: pods,
		},
		NoNetworkPolicies: !o.networkPolicies,
		LeaseNamespace:    o.leaseNamespace,
		TridentNamespace:  o.tridentNamespace,
	})
	if err := r.SetupWithManager(mgr, o.workers); err != nil {
		return fmt.Errorf("set up the controller: %w", err)
	}
	if err := setUpSuites(mgr, reader, r.Missing, o); err != nil {
		return fmt.Errorf("set up the controller of suites: %w", err)
	}
	if err := registerResultMetrics(mgr, o); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctrl.Log.Info("Starting the manager", "version", version, "image", o.image)
	ctx := ctrl.SetupSignalHandler()
	if o.leaderElection {
		go watchClock(ctx, time.Now, time.NewTicker(heartbeat).C, func(stood time.Duration) {
			ctrl.Log.Info("Ending at once, another manager may lead", "stoodStill", stood)
			os.Exit(1) // an orderly end takes time, and would take the lease from the other manager
		})
	}
	return mgr.Start(ctx)
}

// gcPercent is the growth of the heap, in percent, that starts a garbage collection. Most of the heap is the cache,
// which stays: with Go's default of 100 the manager would hold twice as much.
const gcPercent = 40

// openPolicy returns a function that reads the policy in ConfigMap NAMESPACE/NAME. It reads the policy once, so that
// a mistake stops an upgrade and not a benchmark. Without a name it returns nil.
func openPolicy(ctx context.Context, reader client.Reader, name string) (
	func(context.Context) (policy.Policy, error), error,
) {
	if name == "" {
		return nil, nil //nolint:nilnil // the reconciler has a default
	}
	namespace, name, ok := strings.Cut(name, "/")
	if !ok {
		return nil, fmt.Errorf("--policy is %q: write NAMESPACE/NAME of a ConfigMap", namespace)
	}
	read := benchmark.PolicyIn(reader, client.ObjectKey{Namespace: namespace, Name: name})
	_, err := read(ctx)
	return read, err
}

// readPodDefaults reads defaults of spec.pods, and checks them as the API server checks spec.pods of a benchmark: a
// mistake stops an upgrade and not a benchmark.
func readPodDefaults(path string) (v1alpha1.Pods, error) {
	var pods v1alpha1.Pods
	if path == "" {
		return pods, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return pods, fmt.Errorf("--pod-defaults: %w", err)
	}
	checker, err := crdcheck.New()
	if err != nil {
		return pods, err
	}
	if err := yaml.UnmarshalStrict(text, &pods); err != nil {
		return pods, fmt.Errorf("pods.defaults: %w", err)
	}
	part, err := json.Marshal(map[string]any{"pods": pods})
	if err != nil {
		return pods, err
	}
	if err := checker.CheckPart(part); err != nil {
		return pods, fmt.Errorf("pods.defaults: %w", err)
	}
	if pods.Image != "" || pods.ImagePullSecrets != nil || pods.HostNetwork != "" {
		return pods, errors.New("pods.defaults: image, imagePullSecrets and hostNetwork have no default: " +
			"set them in benchmarks")
	}
	return pods, nil
}

// suiteWorkers bounds the suites that are reconciled at the same time. Few suffice: a suite has one run at a time,
// and mostly waits.
const suiteWorkers = 2

func setUpSuites(
	mgr ctrl.Manager, reader client.Reader,
	missing func(context.Context, *v1alpha1.NFSBenchmark) (*pass.Fact, error), o options,
) error {
	if !o.suites {
		return nil
	}
	checker, err := crdcheck.New()
	if err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	r := suite.NewReconciler(suite.Options{
		Client:   mgr.GetClient(),
		Reader:   reader,
		Recorder: mgr.GetEventRecorder("nfsbench"),
		Clock:    clock.RealClock{},
		Checker:  checker,
		Missing:  missing,
	})
	return r.SetupWithManager(mgr, suiteWorkers)
}

func namespaces(list string) []string {
	var out []string
	for n := range strings.SplitSeq(list, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}
