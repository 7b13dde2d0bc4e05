// Package manifest builds the objects of a run: the embedded server, volumes,
// configuration, the load Job and the clean-up Job.
//
// Its functions are pure: they take values and return objects, and never read the cluster, a clock or a global. Names
// are deterministic, so applying an object twice has the effect of applying it once, and a restarted manager finds the
// objects of its predecessor. Every pod meets the restricted Pod Security Standard except for two containers beside a
// database: the database itself if its image needs privilege escalation, and the container that sets the owner of its
// volume. Both meet baseline.
//
// A load is an Indexed Job with a pod for each client, and with a database a Job of one pod. The pod of a run:
//
//	main  loader       nfsbench load: reads the plan, writes events.jsonl and load.json to an emptyDir
//	side  collector    nfsbench collect: follows both files, asks the array (client 0, with the Secret that
//	                   only this container and the survey have), patches the keys
//	                   client-N.progress.json and client-N.result of one ConfigMap. No other container has a
//	                   token.
//
// The pod of a run with a database:
//
//	init  tools        ours    copies nfsbench and oraload into an emptyDir
//	init  permissions  ours    root: gives the volume to the user oracle
//	side  collector    ours    as in every run
//	side  database     user's  nfsbench database, which starts the image's own command
//	main  loader       user's  oraload, with the client library of that image
//
// With an existing database: tools, collector, and the loader in an image with Oracle's client.
package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The containers of a load pod.
const (
	ContainerLoader    = "loader"
	ContainerCollector = "collector"
)

// PortLiveMetrics is the name of the collector's port for Prometheus.
const PortLiveMetrics = "live-metrics"

const (
	// cleanSeconds bounds the clean-up of files: a server that does not
	// answer must not hold a deletion forever.
	cleanSeconds = 50
	// deadlineSlack is the time that the Job adds to the loader's own timeout, so that the loader reports the timeout
	// before the Job does.
	deadlineSlack = int64(60)
)

// LoadJob returns the Job of the loaders: one pod for each client, with a collector. For a load in a database the pod
// also runs the database, or has Oracle's client for an existing one.
func LoadJob(b *v1alpha1.NFSBenchmark, p runfile.Plan, claim string, images Images) *batchv1.Job {
	spec := podSpec(b, images)
	spec.ServiceAccountName = NamesOf(b).Collector
	spec.InitContainers = []corev1.Container{collector(b, images)}
	spec.Containers = []corev1.Container{loader(b, images)}
	spec.Volumes = []corev1.Volume{
		configMapVolume(planVolume, NamesOf(b).Plan),
		emptyDir(runVolume, nil),
		tokenProjection(),
	}
	if slices.ContainsFunc(p.Collect.Sources, func(s runfile.Source) bool { return s.Credentials != "" }) {
		collector := &spec.InitContainers[0]
		collector.Args = append(collector.Args, "--secrets-dir", secretsDir)
		mountSecret(&spec, b, collector)
	}
	if b.Spec.Database != nil {
		withDatabase(&spec, b, images)
	}
	mountData(&spec, b, claim)
	onHostNetwork(&spec, b)
	place(&spec, b, p.Clients, images)

	// The loader counts from its own start, after the database is ready.
	deadline := int64(p.Schedule.TimeoutSeconds) + p.StartupSeconds() + deadlineSlack
	job := newJob(b, NamesOf(b).Load, ComponentLoad, deadline, spec, images)
	job.Spec.Parallelism, job.Spec.Completions = &p.Clients, &p.Clients
	job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	if spec.Hostname != "" {
		// A Job with one pod and a database: an indexed Job would set the host name of the pod.
		job.Spec.CompletionMode = new(batchv1.NonIndexedCompletion)
	}
	// No second pod may load while an evicted one saves its results, and the Job must state the reason of its failure
	// after the pod is gone.
	job.Spec.PodReplacementPolicy = new(batchv1.Failed)
	job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action: batchv1.PodFailurePolicyActionFailJob,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{
			Type:   corev1.DisruptionTarget,
			Status: corev1.ConditionTrue,
		}},
	}}}
	// Set the shaping of an emulated link; the user's annotations take precedence.
	if link := linkAnnotations(b); link != nil {
		maps.Copy(link, job.Spec.Template.Annotations)
		job.Spec.Template.Annotations = link
	}
	return job
}

// listenerPort is the listener port of the database images.
const listenerPort = 1521

func hasHostNetwork(b *v1alpha1.NFSBenchmark) bool {
	return b.Spec.Pods != nil && b.Spec.Pods.HostNetwork == bench.Enabled
}

// onHostNetwork puts a load pod on the network of its node if the user asks for it. The port of a database is declared,
// so that the scheduler never places two on one node. The loader declares it: before Kubernetes 1.34 the scheduler does
// not count the host ports of init containers.
func onHostNetwork(spec *corev1.PodSpec, b *v1alpha1.NFSBenchmark) {
	if !hasHostNetwork(b) {
		return
	}
	spec.HostNetwork, spec.DNSPolicy = true, corev1.DNSClusterFirstWithHostNet
	if slices.ContainsFunc(spec.InitContainers, func(c corev1.Container) bool { return c.Name == ContainerDatabase }) {
		spec.Containers[0].Ports = append(spec.Containers[0].Ports,
			corev1.ContainerPort{Name: "listener", ContainerPort: listenerPort, HostPort: listenerPort})
	}
}

// newJob returns a Job that runs the pods of a component once each, for at most deadline seconds.
func newJob(
	b *v1alpha1.NFSBenchmark, name, component string, deadline int64, spec corev1.PodSpec, images Images,
) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: meta(b, name, component),
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(int32(0)),
			ActiveDeadlineSeconds: &deadline,
			Template:              corev1.PodTemplateSpec{Spec: spec},
		},
	}
	p := podsOf(b, images)
	job.Spec.Template.Labels = over(p.Labels, Labels(b, component))
	job.Spec.Template.Annotations = maps.Clone(p.Annotations)
	return job
}

func loader(b *v1alpha1.NFSBenchmark, images Images) corev1.Container {
	c := container(ContainerLoader, images, "load", "--plan", planPath, "--run-dir", runDir)
	c.Resources = modest("100m", "128Mi")
	p := podsOf(b, images)
	// Only the loader takes them: the other containers have root, a token or credentials.
	c.Image = cmp.Or(p.Image, c.Image)
	c.Resources = ptr.Deref(p.Resources, c.Resources)
	c.VolumeMounts = []corev1.VolumeMount{
		{Name: planVolume, MountPath: planDir, ReadOnly: true},
		{Name: runVolume, MountPath: runDir},
	}
	return c
}

// collector returns the native sidecar that publishes results. It starts before the loader and is stopped after the
// loader has ended, so it outlives a loader that crashed.
func collector(b *v1alpha1.NFSBenchmark, images Images) corev1.Container {
	c := container(ContainerCollector, images, "collect", "--plan", planPath, "--run-dir", runDir,
		"--configmap", b.Namespace+"/"+NamesOf(b).Result)
	c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	c.Resources = modest("50m", "64Mi")
	c.Env = append([]corev1.EnvVar{fieldEnv("NODE_NAME", "spec.nodeName")}, loaderLimits(podsOf(b, images).Resources)...)
	c.StartupProbe = &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{
			Command: []string{binary, "collect", "--check", "--run-dir", runDir},
		}},
		PeriodSeconds: 1, FailureThreshold: 30, TimeoutSeconds: 5,
	}
	c.VolumeMounts = []corev1.VolumeMount{
		{Name: planVolume, MountPath: planDir, ReadOnly: true},
		{Name: runVolume, MountPath: runDir},
		{Name: tokenVolume, MountPath: tokenDir, ReadOnly: true},
	}
	// A PodMonitor finds the port by its name. On the host network it would be a port of the node.
	if port := images.LiveMetricsPort; port != 0 && !hasHostNetwork(b) {
		c.Args = append(c.Args, "--metrics-address", ":"+strconv.Itoa(int(port)))
		c.Ports = append(c.Ports, corev1.ContainerPort{
			Name: PortLiveMetrics, ContainerPort: port, Protocol: corev1.ProtocolTCP,
		})
	}
	return c
}

// loaderLimits passes the limits of the loader, which the collector cannot see. It omits a missing limit, for which
// Kubernetes would insert the size of the node.
func loaderLimits(resources *corev1.ResourceRequirements) []corev1.EnvVar {
	if resources == nil {
		return nil
	}
	var env []corev1.EnvVar
	add := func(name string, resourceName corev1.ResourceName, divisor string) {
		if _, ok := resources.Limits[resourceName]; ok {
			env = append(env, corev1.EnvVar{
				Name: name,
				ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{
					ContainerName: ContainerLoader, Resource: "limits." + string(resourceName), Divisor: resource.MustParse(divisor),
				}},
			})
		}
	}
	add("LOADER_CPU_MILLIS", corev1.ResourceCPU, "1m")
	add("LOADER_MEMORY_BYTES", corev1.ResourceMemory, "1")
	return env
}

// tokenProjection returns the volume with a token, for the collector and the survey.
func tokenProjection() corev1.Volume {
	return corev1.Volume{Name: tokenVolume, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(tokenLifetime)}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
		}},
	}}
}

// mountData mounts the claim if the run needs a kernel mount. Only the container that does the I/O may write: the
// loader, or the database instead. The collector mounts it read-only, because mountstats shows only the container's own
// mounts.
func mountData(spec *corev1.PodSpec, b *v1alpha1.NFSBenchmark, claim string) {
	if claim == "" {
		return
	}
	mountClaim(spec, b, dataVolume, claim, plan.DataDirectory(b))
	if plan.RedoExport(b) != "" {
		mountClaim(spec, b, redoVolume, NamesOf(b).RedoClaim, plan.RedoPath)
	}
}

func mountClaim(spec *corev1.PodSpec, b *v1alpha1.NFSBenchmark, name, claim, directory string) {
	spec.Volumes = append(spec.Volumes, claimVolume(name, claim, false))
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			c := &containers[i]
			readOnly := c.Name == ContainerCollector || c.Name == ContainerLoader && b.Spec.Database != nil
			if c.Name != ContainerTools {
				c.VolumeMounts = append(c.VolumeMounts,
					corev1.VolumeMount{Name: name, MountPath: directory, ReadOnly: readOnly})
			}
		}
	}
}

// CleanJob returns the Job that removes the files of a run from the export. See CleansFiles for the runs that have
// files.
func CleanJob(b *v1alpha1.NFSBenchmark, claim string, images Images) *batchv1.Job {
	c := container("clean", images, "clean", "--plan", planPath, "--timeout",
		strconv.Itoa(cleanSeconds-10)+"s")
	c.Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceMemory: resource.MustParse("64Mi"),
	}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: planVolume, MountPath: planDir, ReadOnly: true}}
	spec := podSpec(b, images)
	spec.Containers = []corev1.Container{c}
	spec.Volumes = []corev1.Volume{configMapVolume(planVolume, NamesOf(b).Plan)}
	mountData(&spec, b, claim)
	return newJob(b, NamesOf(b).Clean, ComponentClean, cleanSeconds, spec, images)
}

// ContainerSurvey is the container of the survey pod.
const ContainerSurvey = "survey"

// RequestKey is the key of the ConfigMap with the request for a survey.
const RequestKey = "request.json"

const (
	requestVolume = "request"
	requestDir    = planDir + "/request"
	arrayCreds    = "array-credentials"
	secretsDir    = planDir + "/secrets"
	// surveySlack is the time that the Job adds to the program's own timeouts: for images, scheduling and retries of
	// publishing.
	surveySlack = int64(420)
	// secretMode lets any user of the container that mounts the Secret read it: the pod's user need not be root, and
	// fsGroup would change the owner of the files on a claim.
	secretMode = int32(0o444)
)

// SurveyRequest returns the ConfigMap with the request for a survey.
func SurveyRequest(b *v1alpha1.NFSBenchmark, request string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: meta(b, NamesOf(b).Survey, ComponentSurvey),
		Data:       map[string]string{RequestKey: request},
		Immutable:  new(true),
	}
}

// SurveyJob returns the Job that queries the array before the run, and moves the volume if the spec asks for it. It
// publishes as the collectors do, with their identity.
func SurveyJob(b *v1alpha1.NFSBenchmark, images Images) *batchv1.Job {
	n := NamesOf(b)
	c := surveyContainer(images, "--configmap", b.Namespace+"/"+n.Result)
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: tokenVolume, MountPath: tokenDir, ReadOnly: true})
	spec := podSpec(b, images)
	spec.ServiceAccountName = n.Collector
	spec.Containers = []corev1.Container{c}
	spec.Volumes = []corev1.Volume{configMapVolume(requestVolume, n.Survey), tokenProjection()}
	mountSecret(&spec, b, &spec.Containers[0])
	deadline := runfile.DefaultSurveySeconds + surveySlack
	if t := b.Spec.Storage.Trident; t != nil && t.MoveTo != "" {
		deadline += runfile.MaxMoveSeconds
	}
	return newJob(b, n.Survey, ComponentSurvey, deadline, spec, images)
}

// surveyContainer returns the container that asks the array. answer is where it writes the answer.
func surveyContainer(images Images, answer ...string) corev1.Container {
	c := container(ContainerSurvey, images, append([]string{
		"survey", "--request", requestDir + "/" + RequestKey, "--secrets-dir", secretsDir,
	}, answer...)...)
	c.Resources = modest("20m", "32Mi")
	c.Env = []corev1.EnvVar{fieldEnv("POD_IPS", "status.podIPs"), fieldEnv("HOST_IPS", "status.hostIPs")}
	c.VolumeMounts = []corev1.VolumeMount{{Name: requestVolume, MountPath: requestDir, ReadOnly: true}}
	return c
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{
		Name:      name,
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}},
	}
}

// mountSecret mounts the credentials of the array, if there are any, into the one container that queries the array.
func mountSecret(spec *corev1.PodSpec, b *v1alpha1.NFSBenchmark, c *corev1.Container) {
	name := plan.SecretName(b)
	if name == "" {
		return
	}
	spec.Volumes = append(spec.Volumes, secretVolume(arrayCreds, name, secretMode))
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
		Name: arrayCreds, MountPath: secretsDir + "/" + plan.ArrayCredentials, ReadOnly: true,
	})
}
