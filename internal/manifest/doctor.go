package manifest

import (
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// ComponentDoctor is the component of a DoctorJob.
const ComponentDoctor = "doctor"

// The annotations with the files of a DoctorJob on its pod, so that the Job is the only object to remove.
const (
	annotationPlan    = "nfsbench.io/plan"
	annotationRequest = "nfsbench.io/request"
)

const (
	// answersFile is the file whose content Kubernetes copies into the status of the pod.
	answersFile = "/dev/termination-log"
	// doctorKeptSeconds is the time to live of a Job whose plugin was killed before it removed the Job.
	doctorKeptSeconds = int32(600)
)

// Examination describes what the pod of a DoctorJob checks.
type Examination struct {
	Plan     runfile.Plan
	PlanText string
	// Volume is mounted as the volume of the run; nil = the run mounts none, or it does not exist yet.
	Volume *corev1.VolumeSource
	// Servers is set if the pod can check the servers; otherwise their addresses are not known yet.
	Servers bool
	// Request is what the array is asked, as for a survey; empty = the pod does not ask it.
	Request string
	// LeastBytes must be free on the volume.
	LeastBytes int64
	// Seconds bounds the time of the Job.
	Seconds int64
}

// DoctorJob returns the Job with the pod of a run, with the same images, user, privileges, resources and volume, but
// without a load and without starting the database. The loader checks what a load needs. In a database, the container
// of the user's image checks the steps before the start, with the arguments of the run.
//
// The pod has no token. Only a container that asks the array has its credentials, as in a survey. The Job has no owner,
// because the benchmark does not exist.
func DoctorJob(b *v1alpha1.NFSBenchmark, x Examination, images Images) *batchv1.Job {
	claim := ""
	if x.Volume != nil {
		claim = dataVolume
	}
	job := LoadJob(b, x.Plan, claim, images)
	job.ObjectMeta = metav1.ObjectMeta{
		Namespace: b.Namespace, GenerateName: "nfsbench-doctor-",
		Labels: map[string]string{LabelName: "nfsbench", LabelManagedBy: ManagedBy, LabelComponent: ComponentDoctor},
	}
	job.Spec.Template.Labels = job.Labels
	job.Spec.CompletionMode, job.Spec.PodFailurePolicy = nil, nil
	job.Spec.Parallelism, job.Spec.Completions = new(int32(1)), new(int32(1)) // one client speaks for all
	job.Spec.ActiveDeadlineSeconds, job.Spec.TTLSecondsAfterFinished = &x.Seconds, new(doctorKeptSeconds)
	if job.Spec.Template.Annotations == nil {
		job.Spec.Template.Annotations = map[string]string{}
	}
	job.Spec.Template.Annotations[annotationPlan] = x.PlanText

	spec := &job.Spec.Template.Spec
	spec.ServiceAccountName, spec.TerminationGracePeriodSeconds = "", new(int64(5))
	spec.Containers = []corev1.Container{examined(spec, b, x)}
	spec.InitContainers = slices.DeleteFunc(spec.InitContainers, func(c corev1.Container) bool {
		return c.Name != ContainerTools && (c.Name != ContainerPermissions || x.Volume == nil)
	})
	doctorVolumes(spec, b, x)
	if x.Request != "" {
		job.Spec.Template.Annotations[annotationRequest] = x.Request
		spec.Volumes = append(spec.Volumes, corev1.Volume{
			Name: requestVolume, VolumeSource: annotationSource(RequestKey, annotationRequest),
		})
		spec.Containers = append(spec.Containers, surveyContainer(images, "--answers", answersFile))
		mountSecret(spec, b, &spec.Containers[len(spec.Containers)-1])
	}
	return job
}

// annotationSource is a file with the value of an annotation of the pod.
func annotationSource(file, annotation string) corev1.VolumeSource {
	return corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
		Path: file, FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + annotation + "']"},
	}}}}
}

// examined returns the loader, or the container of the user's image, changed for the examination.
func examined(spec *corev1.PodSpec, b *v1alpha1.NFSBenchmark, x Examination) corev1.Container {
	c := spec.Containers[0]
	if b.Spec.Database == nil {
		c.Args = []string{"load", "--check", "--plan", planPath, "--answers", answersFile}
		return c
	}
	for _, side := range spec.InitContainers {
		if side.Name == ContainerDatabase {
			c = side
		}
	}
	c.Command, c.RestartPolicy, c.StartupProbe = []string{toolsDir + binary}, nil, nil
	c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.ValueFrom != nil }) // the password
	c.Args = append(examinationArgs(c.Args, b, x), "--examine", answersFile)
	c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.SubPath != "" || m.Name == databaseCreds
	})
	for i := range c.VolumeMounts {
		if m := c.VolumeMounts[i].Name; m == dataVolume || m == redoVolume {
			c.VolumeMounts[i].ReadOnly = false
		}
	}
	return c
}

// examinationArgs returns the arguments of the database in the run, without those that name objects that do not exist
// yet. For an existing database it returns the connect strings.
func examinationArgs(args []string, b *v1alpha1.NFSBenchmark, x Examination) []string {
	if d := b.Spec.Database.External; d != nil {
		args = []string{"database", "--run-dir", runDir}
		for _, connect := range append([]v1alpha1.ConnectString{d.ConnectString}, d.Services...) {
			args = append(args, "--connect", string(connect))
		}
		return append(args, kitArgs(b)...)
	}
	if i := slices.Index(args, "--plan"); i >= 0 && !x.Servers {
		args = slices.Delete(args, i, i+2)
	}
	if i := slices.Index(args, "--data"); i >= 0 && x.Volume == nil {
		args[i+1] = ""
	}
	if i := slices.Index(args, "--redo"); i >= 0 && x.Volume == nil {
		args = slices.Delete(args, i, i+4) // with --redo-export
	}
	return append(args, "--min-free", strconv.FormatInt(x.LeastBytes, 10))
}

// doctorVolumes keeps the volumes that are still mounted. The plan comes from the annotation.
func doctorVolumes(spec *corev1.PodSpec, b *v1alpha1.NFSBenchmark, x Examination) {
	mounted := map[string]bool{}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, m := range c.VolumeMounts {
			mounted[m.Name] = true
		}
	}
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return !mounted[v.Name] })
	for i := range spec.Volumes {
		switch v := &spec.Volumes[i]; v.Name {
		case planVolume:
			v.VolumeSource = annotationSource(PlanKey, annotationPlan)
		case dataVolume:
			v.VolumeSource = *x.Volume
		case redoVolume: // on the same server
			v.VolumeSource = corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{
				Server: x.Volume.NFS.Server, Path: plan.RedoExport(b),
			}}
		}
	}
}

// DoctorVolume returns the volume source of a benchmark that was not started: its claim, or its export, which the node
// mounts from the first path as in a run, with the node's mount options. It returns nil for volumes that a run makes.
func DoctorVolume(b *v1alpha1.NFSBenchmark, t plan.Target) *corev1.VolumeSource {
	switch st := b.Spec.Storage; {
	case !plan.NeedsVolume(b):
		return nil
	case st.Claim != nil:
		return new(claimVolume(dataVolume, st.Claim.Name, false).VolumeSource)
	case st.Export != nil && len(t.Paths) > 0:
		return &corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: t.Paths[0].Path, Path: st.Export.Path}}
	default:
		return nil
	}
}
