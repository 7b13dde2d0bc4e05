package manifest

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// ContainerSurvey is the container of the survey pod.
const ContainerSurvey = "survey"

// RequestKey is the key of the ConfigMap with the request for a survey.
const RequestKey = "request.json"

const (
	requestVolume = "request"
	requestDir    = planDir + "/request"
	secretVolume  = "array-credentials"
	secretsDir    = planDir + "/secrets"
	// surveySlack is what the Job allows beyond the program's own timeouts: for
	// images, scheduling, the retries of publishing.
	surveySlack = int64(420)
	// secretMode lets any user of the one container that mounts it read the
	// Secret: the pod's user need not be root, and fsGroup would change the
	// owner of the files on a claim.
	secretMode = int32(0o444)
)

// SurveyRequest is the ConfigMap with what the survey is to find out.
func SurveyRequest(b *v1alpha1.NFSBenchmark, request string) *corev1.ConfigMap {
	yes := true
	return &corev1.ConfigMap{
		ObjectMeta: meta(b, NamesOf(b).Survey, ComponentSurvey),
		Data:       map[string]string{RequestKey: request},
		Immutable:  &yes,
	}
}

// SurveyJob asks the array before the run, and moves the volume where that is
// wanted. It publishes as the collectors do, with their rights.
func SurveyJob(b *v1alpha1.NFSBenchmark, images Images) *batchv1.Job {
	never, deadline := int32(0), surveyDeadline(b)
	n := NamesOf(b)
	c := container(ContainerSurvey, images.forBenchmark(b), "survey", "--request", requestDir+"/"+RequestKey,
		"--secrets-dir", secretsDir, "--configmap", b.Namespace+"/"+n.Result)
	c.Resources = modest("20m", "32Mi")
	c.Env = []corev1.EnvVar{fieldEnv("POD_IP", "status.podIP"), fieldEnv("HOST_IP", "status.hostIP")}
	c.VolumeMounts = []corev1.VolumeMount{
		{Name: requestVolume, MountPath: requestDir, ReadOnly: true},
		{Name: tokenVolume, MountPath: tokenDir, ReadOnly: true},
	}
	spec := podSpec(b)
	spec.ServiceAccountName = n.Collector
	spec.Containers = []corev1.Container{c}
	spec.Volumes = []corev1.Volume{configMapVolume(requestVolume, n.Survey), tokenProjection()}
	mountSecret(&spec, b, &spec.Containers[0])
	job := &batchv1.Job{
		ObjectMeta: meta(b, n.Survey, ComponentSurvey),
		Spec: batchv1.JobSpec{
			BackoffLimit:          &never,
			ActiveDeadlineSeconds: &deadline,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: Labels(b, ComponentSurvey)},
				Spec:       spec,
			},
		},
	}
	if p := b.Spec.Pods; p != nil {
		job.Spec.Template.Annotations = p.Annotations
	}
	return job
}

func surveyDeadline(b *v1alpha1.NFSBenchmark) int64 {
	seconds := runfile.DefaultSurveySeconds + surveySlack
	if t := b.Spec.Storage.Trident; t != nil && t.MoveTo != "" {
		seconds += runfile.MaxMoveSeconds
	}
	return seconds
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{
		Name:      name,
		ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}},
	}
}

// mountSecret mounts the credentials of the array, where it needs any, into the
// one container that asks it.
func mountSecret(spec *corev1.PodSpec, b *v1alpha1.NFSBenchmark, c *corev1.Container) {
	name, mode := plan.SecretName(b), secretMode
	if name == "" {
		return
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: secretVolume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: name, DefaultMode: &mode},
	}})
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
		Name: secretVolume, MountPath: secretsDir + "/" + plan.ArrayCredentials, ReadOnly: true,
	})
}
