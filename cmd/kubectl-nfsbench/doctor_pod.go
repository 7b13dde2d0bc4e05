package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxEvents bounds the events of a namespace that doctor reads.
const maxEvents = 500

// removeWithin bounds the removal of the Job.
const removeWithin = 30 * time.Second

// examinePod runs the Job, and adds the checks of its pod, or the reason why the pod made none.
func (d *doctor) examinePod(ctx context.Context, x manifest.Examination) error {
	images, err := d.images(ctx)
	if err != nil {
		return err
	}
	job := d.admittedJob(ctx, x, images)
	if job == nil {
		return nil
	}
	if err := d.Create(ctx, job); err != nil {
		d.fail(checkPod, "the Job that checks the rest was not created: %s", explain(err))
		return nil
	}
	defer d.remove(ctx, job)
	fmt.Fprintf(d.errOut, "Job %s checks images, volume and servers; images are pulled first.\n", job.Name)
	waiting, cancel := context.WithTimeout(ctx, d.o.timeout)
	defer cancel()
	last := "the Job has no pod: look whether the controllers of the cluster run"
	for {
		ended, trouble, err := d.lookAtPod(waiting, job)
		switch {
		case ctx.Err() != nil:
			return cli.Coded(cli.ExitLeft, errors.New("left"))
		case waiting.Err() != nil:
			d.fail(checkPod, "the pod did not end within %s: %s; raise --timeout if it only needs more time",
				d.o.timeout, last)
			return nil
		case err != nil:
			return err
		case ended:
			return nil
		case trouble != "" && trouble != last:
			last = trouble
			fmt.Fprintf(d.errOut, "waiting: %s\n", cli.OneLine(trouble))
		}
		select {
		case <-waiting.Done():
		case <-time.After(d.every):
		}
	}
}

// admittedJob returns the Job that the namespace admits; nil if it admits none. Pod Security may refuse the NFS volume
// of the pod, although it admits the run, which mounts a claim.
func (d *doctor) admittedJob(ctx context.Context, x manifest.Examination, images manifest.Images) *batchv1.Job {
	job := manifest.DoctorJob(d.b, x, images)
	refused := d.dryRun(ctx, job)
	if x.Volume != nil && x.Volume.NFS != nil && apierrors.IsForbidden(refused) && !lacksRight(refused) {
		without := x
		without.Volume = nil
		job = manifest.DoctorJob(d.b, without, images)
		if refused = d.dryRun(ctx, job); refused == nil {
			d.warn(checkStorage, "namespace %s refuses a pod with a volume of type nfs, so the mount is not checked: the run "+
				"mounts the export by a claim. Make a claim of it and check that with --claim, to see more", job.Namespace)
			if d.b.Spec.Database == nil { // the load that the pod would check needs the mount
				d.arrayNotAsked()
				return nil
			}
		}
	}
	switch {
	case refused == nil:
		d.ok(checkNamespace, "%s admits the pod", job.Namespace)
	case lacksRight(refused):
		d.warn(checkNamespace, "it is not known whether the namespace admits the pod: %s", explain(refused))
	default:
		named := job.DeepCopy()
		named.Name = strings.TrimSuffix(job.GenerateName, "-")
		d.fail(checkNamespace, "%s", diagnose.Refusal(named, refused.Error()))
		return nil
	}
	return job
}

// dryRun asks the API server whether it takes the pod of a Job: Pod Security, quotas, limits.
func (d *doctor) dryRun(ctx context.Context, job *batchv1.Job) error {
	pod := &corev1.Pod{
		ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: *job.Spec.Template.Spec.DeepCopy(),
	}
	pod.Namespace, pod.GenerateName = job.Namespace, job.GenerateName
	return d.Create(ctx, pod, client.DryRunAll)
}

// lookAtPod says whether the pod has ended, and what it waits for.
func (d *doctor) lookAtPod(ctx context.Context, job *batchv1.Job) (ended bool, waitsFor string, err error) {
	pods, events := &corev1.PodList{}, &corev1.EventList{}
	in := client.InNamespace(job.Namespace)
	if err := d.List(ctx, pods, in, client.MatchingLabels{batchv1.JobNameLabel: job.Name}); err != nil {
		return false, "", err
	}
	for i := range pods.Items {
		if d.readAnswers(&pods.Items[i]) {
			return true, "", nil
		}
	}
	// Events explain more than pod states, but the user may lack the right to read events.
	_ = d.List(ctx, events, in, client.Limit(maxEvents))
	t := diagnose.Pods(pods.Items, events.Items, d.now(), diagnose.DefaultGrace())
	if len(pods.Items) == 0 {
		t = diagnose.NoPods(job, events.Items, d.now(), diagnose.DefaultGrace())
	}
	switch {
	case t == nil:
		return false, "", nil
	case t.Fatal:
		d.fail(checkPod, "%s", t.Message)
		return true, t.Message, nil
	default:
		return false, t.Message, nil
	}
}

// readAnswers adds the checks that the containers wrote. It returns false if not all containers have ended.
func (d *doctor) readAnswers(pod *corev1.Pod) bool {
	runs := func(s corev1.ContainerStatus) bool { return s.State.Terminated == nil }
	all := pod.Status.ContainerStatuses
	if len(all) < len(pod.Spec.Containers) || slices.ContainsFunc(all, runs) {
		return false
	}
	var answers []runfile.Check
	for _, s := range all {
		checks, err := runfile.ReadChecks(s.State.Terminated.Message)
		if err != nil {
			d.fail(checkPod, "nfsbench in image %s ended with exit code %d and gave no answer: %s", s.Image,
				s.State.Terminated.ExitCode, strings.TrimSpace(s.State.Terminated.Message))
		}
		answers = append(answers, checks...)
	}
	if len(answers) > 0 {
		d.ok(checkImages, "pulled: %s", imagesOf(pod.Spec))
	}
	for _, c := range answers {
		d.add(c.Check, c.Result, "%s", c.Message)
	}
	return true
}

// remove deletes the Job, also when the command is interrupted.
func (d *doctor) remove(ctx context.Context, job *batchv1.Job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeWithin)
	defer cancel()
	err := d.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		fmt.Fprintf(d.errOut, "Job %s was not removed (%s): kubectl -n %s delete job %s\n", job.Name, explain(err),
			job.Namespace, job.Name)
	}
}
