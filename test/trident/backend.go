package trident

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nfsbench/nfsbench/internal/trident"
)

func (c *Controller) stepBackends(ctx context.Context) (string, error) {
	if c.fault().Silent {
		return "", nil
	}
	configs, err := c.list(ctx, trident.KindBackendConfig)
	return firstStep(ctx, configs, err, c.stepBackend)
}

// isHeld says that Trident works on a backend whose management LIF does not answer. The config
// has its finalizer and no status then, or that of the attempt before, which failed, and the lock
// of all that Trident does is held.
func (c *Controller) isHeld(ctx context.Context) (bool, error) {
	lif := c.fault().Drops
	if lif == "" {
		return false, nil
	}
	configs, err := c.list(ctx, trident.KindBackendConfig)
	return slices.ContainsFunc(configs, func(u unstructured.Unstructured) bool {
		return controllerutil.ContainsFinalizer(&u, trident.Finalizer) && text(&u, "status", "lastOperationStatus") != "Success" &&
			text(&u, "spec", "managementLIF") == lif
	}), err
}

// firstStep does the first thing that there is to do about one of some objects,
// unless there was an error before.
func firstStep[T any](ctx context.Context, all []T, err error, step func(context.Context, *T) (string, error)) (string, error) {
	did := ""
	for i := 0; i < len(all) && did == "" && err == nil; i++ {
		did, err = step(ctx, &all[i])
	}
	return did, err
}

func (c *Controller) stepBackend(ctx context.Context, config *unstructured.Unstructured) (string, error) {
	switch {
	case config.GetDeletionTimestamp() != nil:
		return c.deleteBackend(ctx, config)
	case !controllerutil.ContainsFinalizer(config, trident.Finalizer):
		controllerutil.AddFinalizer(config, trident.Finalizer)
		return "Trident takes TridentBackendConfig " + config.GetName(), c.Client.Update(ctx, config)
	case text(config, "status", "phase") != "":
		return c.tellBackend(ctx, config)
	}
	if why := c.refuse(ctx, config); why != "" {
		if text(config, "status", "message") == why {
			return "", nil
		}
		return "Trident refuses TridentBackendConfig " + config.GetName(), c.setStatus(ctx, config, map[string]any{
			"phase": "", "lastOperationStatus": "Failed", "message": why, "deletionPolicy": "delete",
			"backendInfo": map[string]any{"backendName": "", "backendUUID": ""},
		})
	}
	name, id := cmp.Or(text(config, "spec", "backendName"), config.GetName()), string(uuid.NewUUID())
	backend, err := c.backendOf(ctx, config.GetUID())
	if err == nil && backend == nil {
		err = c.Client.Create(ctx, c.newBackend(config, name, id))
	} else if backend != nil {
		id = text(backend, "backendUUID")
	}
	if err != nil {
		return "", err
	}
	return "TridentBackendConfig " + config.GetName() + " is bound", c.setStatus(ctx, config, map[string]any{
		"phase": "Bound", "lastOperationStatus": "Success", "message": fmt.Sprintf("Backend '%s' created", name),
		"deletionPolicy": "delete", "backendInfo": map[string]any{"backendName": name, "backendUUID": id},
	})
}

// refuse validates a configuration as Trident does; "" where it is good.
func (c *Controller) refuse(ctx context.Context, config *unstructured.Unstructured) string {
	if f := c.fault().Backend; f != "" {
		return f
	}
	spec, _, _ := unstructured.NestedMap(config.Object, "spec")
	for _, inline := range []string{"username", "password", "clientPrivateKey"} {
		if _, is := spec[inline]; is {
			return fmt.Sprintf("input field validation failed: %s must not be given inline", inline)
		}
	}
	if spec["version"] != int64(1) {
		return fmt.Sprintf("unexpected config file version: %v", spec["version"])
	}
	if d, _ := spec["storageDriverName"].(string); !slices.Contains([]string{"ontap-nas", "ontap-nas-flexgroup", "ontap-nas-economy"}, d) {
		return fmt.Sprintf("unknown storage driver %q", d)
	}
	for _, key := range []string{"managementLIF", "svm"} {
		if s, _ := spec[key].(string); s == "" {
			return fmt.Sprintf("missing mandatory field %s", key)
		}
	}
	secret := &corev1.Secret{}
	name := text(config, "spec", "credentials", "name")
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("secret %s not found in namespace %s", name, c.Namespace)
	case err != nil:
		return err.Error()
	case len(secret.Data["username"]) == 0 || len(secret.Data["password"]) == 0:
		return fmt.Sprintf("secret %s has no username and password", name)
	default:
		return ""
	}
}

func (c *Controller) newBackend(config *unstructured.Unstructured, name, id string) *unstructured.Unstructured {
	spec, _, _ := unstructured.NestedMap(config.Object, "spec")
	ontap := maps.Clone(spec)
	for _, key := range []string{"credentials", "deletionPolicy", "backendName", "defaults"} {
		delete(ontap, key)
	}
	if _, is := ontap["dataLIF"]; !is {
		ontap["dataLIF"] = c.DataLIF
	}
	if c.fault().BackendsAreEconomy {
		ontap["storageDriverName"] = "ontap-nas-economy"
	}
	ontap["storagePrefix"] = storagePrefix
	u := &unstructured.Unstructured{Object: map[string]any{
		"backendName": name, "backendUUID": id, "version": "1", "online": true, "state": "online", "stateReason": "",
		"userState": "normal", "configRef": string(config.GetUID()), "config": map[string]any{"ontap_config": ontap},
	}}
	u.SetGroupVersionKind(trident.Kind(trident.KindBackend))
	u.SetNamespace(c.Namespace)
	u.SetName("tbe-" + rand.String(5))
	u.SetFinalizers([]string{trident.Finalizer})
	return u
}

// tellBackend keeps what a backend reports about itself true.
func (c *Controller) tellBackend(ctx context.Context, config *unstructured.Unstructured) (string, error) {
	backend, err := c.backendOf(ctx, config.GetUID())
	if err != nil || backend == nil {
		return "", err
	}
	state, online, reason := "online", true, c.fault().Offline
	if reason != "" {
		state, online = "offline", false
	}
	if text(backend, "state") == state {
		return "", nil
	}
	backend.Object["state"], backend.Object["online"], backend.Object["stateReason"] = state, online, reason
	return "the backend is " + state, c.Client.Update(ctx, backend)
}

// backendOf is the TridentBackend of a configuration; nil where there is none.
func (c *Controller) backendOf(ctx context.Context, config types.UID) (*unstructured.Unstructured, error) {
	list, err := c.list(ctx, trident.KindBackend)
	i := slices.IndexFunc(list, func(u unstructured.Unstructured) bool { return text(&u, "configRef") == string(config) })
	if i < 0 {
		return nil, err
	}
	return &list[i], err
}

// deleteBackend lets a configuration go once its last volume has gone.
func (c *Controller) deleteBackend(ctx context.Context, config *unstructured.Unstructured) (string, error) {
	if !controllerutil.ContainsFinalizer(config, trident.Finalizer) {
		return "", nil
	}
	id := text(config, "status", "backendInfo", "backendUUID")
	volumes, err := c.list(ctx, trident.KindVolume)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(volumes, func(v unstructured.Unstructured) bool { return id != "" && text(&v, "backendUUID") == id }) {
		if text(config, "status", "phase") == trident.PhaseDeleting {
			return "", nil
		}
		status, _, _ := unstructured.NestedMap(config.Object, "status")
		status["phase"], status["message"] = trident.PhaseDeleting, "backend has volumes"
		return "TridentBackendConfig " + config.GetName() + " waits for its volumes", c.setStatus(ctx, config, status)
	}
	backend, err := c.backendOf(ctx, config.GetUID())
	if err != nil {
		return "", err
	}
	if backend != nil {
		if err := c.release(ctx, backend); err != nil {
			return "", err
		}
	}
	controllerutil.RemoveFinalizer(config, trident.Finalizer)
	return "TridentBackendConfig " + config.GetName() + " is gone", c.Client.Update(ctx, config)
}

func (c *Controller) release(ctx context.Context, u *unstructured.Unstructured) error {
	if len(u.GetFinalizers()) > 0 {
		u.SetFinalizers(nil)
		if err := c.Client.Update(ctx, u); err != nil {
			return err
		}
	}
	return client.IgnoreNotFound(c.Client.Delete(ctx, u))
}

func (c *Controller) setStatus(ctx context.Context, u *unstructured.Unstructured, status map[string]any) error {
	u.Object["status"] = status
	return c.Client.Status().Update(ctx, u)
}
